"""``python -m fwsvm`` is the command ``fwsvm``."""

from .cli import main

main()
