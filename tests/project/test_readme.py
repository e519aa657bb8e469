"""The README's Python runs as it is printed, and its commands exist."""

import os
import re
import subprocess
import sys
from pathlib import Path
