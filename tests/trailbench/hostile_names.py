"""Names of a log that want to be more than text: formulas, YAML, JSON, line breaks, Markdown, HTML."""

HOSTILE_NAMES = (
    *(
        "=1+1",
        "@SUM(A1:A9)",
        '+cmd|" /C calc"!A0',
        "---",
        "a: [b\n---\nlicense: mit",
        '"}\n{"id": 7',
        "a\u2028b\u0085c",
    ),
    *(
        "| x | <script>alert(1)</script>",
        "![x](http://x.example/y.png)",
        "`tick` *bold* __under__ ~~s~~",
        "# h\r\n- l",
        "&lt;",
    ),
)
