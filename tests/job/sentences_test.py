"""What counts as a sentence of a Markdown page."""

from __future__ import annotations

from pathlib import Path

from tools.job.sentences import of_docs, sentences

PAGE = """# A heading that is no sentence at all

The first sentence spans
two lines. The second has `code` and **weight** and a [link](https://example.org/path).

```
This line of code is not a sentence, whatever it says.
```

- An item of a list is a sentence.
- Too short.

| a table | is no | sentence either |
<p>HTML is not a sentence either.</p>
1. A numbered item with a snake_case name stays whole.
"""


def test_sentences() -> None:
    assert sentences(PAGE) == [
        "The first sentence spans two lines.",
        "The second has code and weight and a link.",
        "An item of a list is a sentence.",
        "A numbered item with a snake_case name stays whole.",
    ]


def test_pages_are_read_in_order_and_repetitions_dropped(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("The same sentence stands twice. This one is of the readme.")
    (tmp_path / "docs" / "b.md").write_text("The same sentence stands twice. This one is of page b.")
    (tmp_path / "docs" / "a.md").write_text("This one is of page a.")
    assert of_docs(tmp_path) == [
        "The same sentence stands twice.",
        "This one is of the readme.",
        "This one is of page a.",
        "This one is of page b.",
    ]
