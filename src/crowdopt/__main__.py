"""``python -m crowdopt``."""

from crowdopt.cli.entry import main

main()
