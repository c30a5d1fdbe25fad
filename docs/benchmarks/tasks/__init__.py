"""The tasks, by name."""

from . import functions, loops, matrices, models

TASKS = {task.name: task for module in (functions, models, matrices, loops) for task in module.TASKS}
