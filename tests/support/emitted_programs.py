"""What runs an emitted Mininet program in the guest of `vm`, in place of its own program."""

RUN = """
import os, subprocess, sys
place = os.path.dirname(os.path.abspath(sys.argv[0]))
program = os.path.join(place, "emitted.py")
with open(program, "w") as file:
    file.write({text!r})
ran = subprocess.run(["python3", program, sys.argv[1]], env=os.environ | {{"PYTHONPATH": ":".join(sys.path)}})
sys.exit(ran.returncode)
"""
