"""Every exception of funcgrad and how its sentence is made.

A message is at most three sentences: what happened, with the values; the rule; what to write instead.
Each class also derives from the builtin that a user would catch.
"""

from funcgrad.errors.base import FuncgradError
from funcgrad.errors.doors import (
    ArgumentError,
    ArgumentTypeError,
    InputError,
    OutputError,
)
from funcgrad.errors.lanes import (
    BatchAxisError,
    EmptyBatchError,
    LaneLayoutError,
    LaneResultsError,
    LanesDifferError,
    LaneShapesError,
)
from funcgrad.errors.operations import (
    EndedBufferError,
    EqualValuesError,
    ForeignArrayError,
    FrozenError,
    MissingPartialError,
    MissingRuleError,
    NoSciPyError,
    NoStridesError,
    ObjectOperandError,
    OutArgumentError,
    WhereArgumentError,
)
from funcgrad.errors.programs import (
    BranchError,
    CarryError,
    GuardError,
    InvalidDataError,
    InvalidProgramError,
    NoProgramError,
    NotDataError,
    ProgramArgumentError,
)
from funcgrad.errors.rules import (
    ConvergenceError,
    IntegrationError,
    NoRuleError,
    RuleResultError,
)
from funcgrad.errors.tape import (
    NoGradAttributeError,
    NoGradientError,
    NotRecordedError,
)
from funcgrad.errors.testing import (
    ChangedArgumentError,
    GradientError,
    NondeterministicError,
    RuleError,
    ValueMismatchError,
    WrongDerivativeError,
)
from funcgrad.errors.tracers import (
    ClosedOverTracerError,
    ConversionError,
    HiddenTracerError,
    LeakedTracerError,
    TooLargeToStackError,
    UnhashableError,
)
from funcgrad.errors.trees import (
    CyclicTreeError,
    DeepTreeError,
    LeafCountError,
    TreeMismatchError,
    TreeRegistrationError,
    UnregisteredContainerError,
    UnsetFieldError,
)

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BatchAxisError",
    "BranchError",
    "CarryError",
    "ChangedArgumentError",
    "ClosedOverTracerError",
    "ConvergenceError",
    "ConversionError",
    "CyclicTreeError",
    "DeepTreeError",
    "EmptyBatchError",
    "EndedBufferError",
    "EqualValuesError",
    "ForeignArrayError",
    "FrozenError",
    "FuncgradError",
    "GradientError",
    "GuardError",
    "HiddenTracerError",
    "InputError",
    "IntegrationError",
    "InvalidDataError",
    "InvalidProgramError",
    "LaneLayoutError",
    "LaneResultsError",
    "LaneShapesError",
    "LanesDifferError",
    "LeafCountError",
    "LeakedTracerError",
    "MissingPartialError",
    "MissingRuleError",
    "NoGradAttributeError",
    "NoGradientError",
    "NoProgramError",
    "NoRuleError",
    "NoSciPyError",
    "NoStridesError",
    "NondeterministicError",
    "NotDataError",
    "NotRecordedError",
    "ObjectOperandError",
    "OutArgumentError",
    "OutputError",
    "ProgramArgumentError",
    "RuleError",
    "RuleResultError",
    "TooLargeToStackError",
    "TreeMismatchError",
    "TreeRegistrationError",
    "UnhashableError",
    "UnregisteredContainerError",
    "UnsetFieldError",
    "ValueMismatchError",
    "WhereArgumentError",
    "WrongDerivativeError",
]

for _name in __all__:
    globals()[_name].__module__ = __name__  # as they are read in tracebacks
