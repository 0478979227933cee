"""``python -m crowdopt``."""

from crowdopt.cli import main

main()
