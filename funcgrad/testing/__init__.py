"""What tests of derivatives need: `check_grads`."""

from funcgrad.testing.check_grads import check_grads

__all__ = ["check_grads"]
