"""Third-party packages with a memory method, as an installer leaves them."""

import textwrap
from pathlib import Path

LAST_LINE = """
    import os
    import sys

    from trailbench import JsonMemory, MethodSpec, Settings, fit, setting

    print("noise on import")


    class Config(Settings):
        word: str = setting("item", "the word before an item", unit="", origin="ours")


    class LastItems(JsonMemory):
        name = "last_items"

        def take(self, batch):
            print("noise", flush=True)
            os.write(1, b'{"value": null}\\n')
            sys.stdin.read()
            self.state.setdefault("items", []).extend(batch.visits["item_id"].to_list())

        def readout(self, budget):
            items = ["".join(filter(str.isprintable, item)) for item in self.state.get("items", [])]
            return fit([f"{self.config.word} {item}" for item in items], budget, self.tokens)


    def spec():
        return MethodSpec("last_items", "statistics", "Every item.", LastItems, Config, batch_invariant=True)
"""
"""The module of a package whose method `last_items` tells every item, and writes where it must not."""


def install(site: Path, name: str, code: str, **entries: str) -> None:
    """A package as an installer leaves it: the module, and its metadata with entry points."""
    module = name.replace("-", "_")
    (site / module).mkdir(parents=True)
    (site / module / "__init__.py").write_text(textwrap.dedent(code))
    info = site / f"{module}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = [f"{entry} = {module}{target}" for entry, target in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[trailbench.methods]", *lines, ""]))
