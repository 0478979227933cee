"""``python -m crowdopt``."""

from crowdopt.start import main

main()
