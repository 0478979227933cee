"""How many random problems tests try: a third of them in every run, all of them with CROWDOPT_THOROUGH=1.

The campaign (campaign.py) tries new ones for as long as one likes.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("CROWDOPT_THOROUGH") == "1"


def effort(number: int) -> int:
    """So many, or about a third of it."""
    return number if THOROUGH else -(-number // 3)
