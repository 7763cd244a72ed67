"""Parts of the main job (tools/main_job.py); the GPU check shares its cases and statistics."""
