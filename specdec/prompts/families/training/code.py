"""Training prompts with code: write, continue, explain and mend small programs in several languages."""

from specdec.prompts.families.grammar import bank
from specdec.prompts.families.training.topic import Topic, blocks

BANKS = {
    "thing": bank(
        "user|song|ticket|player|email|photo|account|movie|student|invoice|message|pixel|node|token|event|word|"
        "file|task|"
        "flight|score|city|color|matrix|record"
    ),
    "attribute": bank("name|age|length|level|rating|status|key|value|year|index|path|title|count|balance|date|email"),
    "doing": bank("load|save|count|find|parse|update|print|remove|filter|convert|validate|send|compute|create|reverse"),
}

PYTHON = Topic(
    name="python_tasks",
    kind="Python",
    subjects=bank(
        "a music player|a to-do app|a bank simulation|a chat server|a text adventure|a quiz game|a web scraper|a spell "
        "checker|a school database|an image editor|a password manager|a chess program"
    ),
    heads=(
        "Python code of {subject}:\n\n```python",
        "Complete the following Python code ({subject}).\n",
        "Review my code for {subject}.\n\n```python",
    ),
    sentences=(
        'def {doing}_{thing=t}({=t}):\n    return {=t}["{attribute}"]',
        "def {doing}_{thing=t}s({=t}s):\n    for {=t} in {=t}s:\n        print({=t}.{attribute})",
        "class {Thing=t}:\n    def __init__(self, {attribute=a}, {attribute=b}):\n        self.{=a} = {=a}\n     "
        "   self.{=b} = {=b}",
        'def {doing}_{attribute=a}(data):\n    """Return the {=a} of data."""\n    result = []\n    for item in data:\n'
        "        if item.{=a} is not None:\n            result.append(item.{=a})\n    return result",
        "{thing=t}s = [{1-99}, {1-99}, {1-99}]\nprint(max({=t}s))",
        'import json\n\nwith open("{thing=t}s.json") as f:\n    {=t}s = json.load(f)',
        'try:\n    {doing}_{thing=t}({1-99})\nexcept ValueError as e:\n    print("Invalid {=t}:", e)',
        'def is_valid_{thing=t}({=t}):\n    return len({=t}) > {2-20} and {=t}[0] != "{attribute}"',
        "{attribute=a}_by_{thing=t} = {{=t}: {=t}.{=a} for {=t} in {=t}s if {=t}.{=a} > {1-90}}",
    ),
    tails=(
        "\n```\n\nExplain what this code does.",
        "\n```\n\nAdd a function that counts the {thing}s and write a docstring for it.",
        "\n```\n\nRewrite the code in a cleaner way.",
        "\n```\n\nWrite unit tests for it.",
        "\n```\n\nFind the bug and fix it.",
        "\n\ndef {doing}_all_{thing=t}s({=t}s, {attribute}):\n",
        "\n```\n\nAdd error handling and type hints.",
        "\n```\n\nTranslate this to JavaScript.",
    ),
    briefs=(
        "Write a Python function that checks whether a {thing} is valid.",
        "Write a Python function to {doing} a list of {thing}s.",
        "Python: reverse a string.",
        "Write Python code that reads a CSV file of {thing}s and prints the {attribute}.",
        "Write a Python class {Thing} with {attribute} and {attribute}.",
        "How do I sort a dictionary by {attribute} in Python?",
        "What is a list comprehension in Python? Give an example with {thing}s.",
        "Write a Python script that sends a {thing}.",
        "Fix this code: for i in range({2-90}) print(i)",
        "Write the Fibonacci sequence in Python.",
        "Explain recursion with a Python example.",
    ),
    supply=blocks,
    banks=BANKS,
)

WEB = Topic(
    name="web_and_sql",
    kind="JavaScript, SQL, HTML, shell",
    subjects=bank(
        "an online shop|a blog|a booking site for {sport}|a photo gallery|a weather widget|a {hobby} forum|a "
        "dashboard|a "
        "login page|a shopping cart|a school portal|a ticket system"
    ),
    heads=(
        "Source code of {subject}:\n",
        "I am building {subject}. This is what I have:\n",
        "Files of {subject}:\n",
    ),
    sentences=(
        "function {doing}{Thing=t}({=t}) {\n  return {=t}.{attribute};\n}",
        "const {thing=t}s = [{1-90}, {1-90}];\n{=t}s.forEach(({=t}) => console.log({=t}));",
        "SELECT {attribute}, {attribute} FROM {thing}s WHERE {attribute} > {2-90};",
        "CREATE TABLE {thing}s (id INT PRIMARY KEY, {attribute} TEXT, {attribute} INT);",
        '<div class="{thing=t}">\n  <h2>{Attribute}</h2>\n  <p>{{=t}}</p>\n</div>',
        ".{thing} { color: #{100-999}; margin: {2-40}px; }",
        'let {attribute=a} = document.getElementById("{=a}");\n{=a}.addEventListener("click", {doing}{Thing});',
        '#!/bin/bash\nfor f in *.txt; do\n  echo "{doing} $f"\ndone',
        'app.get("/{thing=t}s", (req, res) => {\n  res.json({=t}s);\n});',
        "public class {Thing=t} {\n    private int {attribute=a};\n    public int get{Attribute}() { return {=a}; }\n}",
        "INSERT INTO {thing}s VALUES ({1-90}, '{person}', {10-99});",
    ),
    tails=(
        "\n\nExplain the code line by line.",
        "\n\nWrite a function that removes a {thing} by {attribute}.",
        "\n\nWrite a SQL query that returns the ten newest {thing}s.",
        "\n\nAdd comments.",
        "\n\nWhat would you improve?",
        "\n\nWrite the missing HTML page.",
        "\n\nHow can I test this?",
        "\n\nContinue with a function that validates the {attribute}.",
    ),
    briefs=(
        "Write a SQL query that counts {thing}s per {attribute}.",
        "Write a JavaScript function that finds the longest {thing}.",
        "Create an HTML form for {subject}.",
        "Write CSS for a {attribute} button.",
        "Write a bash script that renames all {thing} files.",
        "Write a Java class for a {thing}.",
        "What is the difference between let and const?",
        "Write a regular expression that matches an {attribute}.",
        "Write a C program that prints {2-20} lines.",
        "Explain what this does: {thing}s.map(x => x.{attribute})",
        "How do I use git to undo a change?",
    ),
    supply=blocks,
    banks=BANKS,
)

CODE = (PYTHON, WEB)
