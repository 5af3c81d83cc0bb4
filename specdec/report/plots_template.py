"""The page that ``dvc plots`` fills, with the chart library inside it: DVC's own page loads that from the network.

``python -m specdec.report.plots_template FILE`` writes it; `make plots` does so and has DVC fill it.
"""

import sys
from pathlib import Path

import vl_convert

from specdec.storage import write_text

VEGA_LITE = "5.21"
"""Of the major version that DVC's chart templates are written for."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Plots of the study</title>
<script>
LIBRARY
</script>
</head>
<body>
{plot_divs}
</body>
</html>
"""


def plots_template() -> str:
    """The page's text; DVC puts the charts at ``{plot_divs}``."""
    library = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    return PAGE.replace("LIBRARY", library.replace("</script", "<\\/script"))


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), plots_template())
