"""Short names for the array types that the signatures use."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
SmallInts: TypeAlias = NDArray[np.int64] | NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Objects: TypeAlias = NDArray[Any]
Counts: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
