"""flashfit's nodes for ComfyUI: copy or link this folder into ComfyUI's custom_nodes, or name the folder that holds it
in extra_model_paths.yaml. flashfit.integrations.comfyui has what the nodes do.

flashfit is the one installed in ComfyUI's Python; a link also works from an unpacked wheel that is not installed.
"""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("flashfit") is None:
    site = Path(__file__).resolve().parents[3]
    if not (site / "flashfit" / "__init__.py").is_file():
        raise ImportError(
            f"flashfit: not in ComfyUI's Python, {sys.executable}; accepted: install it there, or link this folder "
            "from an unpacked wheel"
        )
    sys.path.append(str(site))

from flashfit.integrations.comfyui import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS, loaded

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS"]

loaded()
