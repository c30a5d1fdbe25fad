"""What tests of derivatives need: `check_grads`, and `check_rule` for custom rules."""

from funcgrad.testing.check_grads import check_grads
from funcgrad.testing.check_rule import check_rule

__all__ = ["check_grads", "check_rule"]
