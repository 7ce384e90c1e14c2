"""`python -m onegrad.cli`, for source checkouts that are not installed."""

import sys

from onegrad.cli import main

sys.exit(main())
