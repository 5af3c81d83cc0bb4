"""Training prompts on data: records and JSON, tables, logs, sums, plans."""

from specdec.prompts.families.grammar import bank
from specdec.prompts.families.training.topic import Topic, bullets, lines, paragraphs

RECORDS = Topic(
    name="form_filling",
    kind="extract",
    subjects=bank(
        "hospital admissions|{sport} registrations|job applications|library loans|lost pets|car rentals|concert "
        "tickets|"
        "exam results|flight bookings|insurance cases|blood donors|students of {field}|zoo animals|phone calls"
    ),
    heads=(
        "Extract the data on {subject} from this text.\n\n",
        "Unstructured notes ({subject}):\n\n",
        "Text: ",
        "Voice messages, {subject}:\n",
    ),
    sentences=(
        "{Person} {doctor}, born {1-28} {mon} {1950-2010}, lives in {place}, phone 555-{1000-9999}.",
        "{Person} ({18-80}) from {place} is a {profession} and pays {20-900} dollars per month.",
        "On {weekday} {person} called about a {animal}, ID {10000-99999}.",
        "Name: {person}; city: {place}; interest: {hobby}; age about {20-70}.",
        "{Doctor} signed for {person}, room {100-480}, {quality} condition.",
        "The {product} with number A{100-999} belongs to {person}, e-mail {person}@example.com.",
        "{Person} arrives in {place} on {mon} {1-28} with {company}, seat {2-40}C.",
        "{Person} scored {40-99} points in {field} and {40-99} in {field}.",
        "Please note that {person} now works for {company} as a {profession}.",
    ),
    tails=(
        "\n\nReturn the result as JSON with the keys name, city and date.",
        "\n\nOutput JSON only.",
        "\n\nMake a table with the columns name, place, number.",
        "\n\nExtract all names and places.",
        "\n\nConvert this to CSV with a header line.",
        "\n\nWrite each entry as key: value pairs.",
        "\n\nConvert it to YAML.",
        '\n\nGive a JSON list of objects, one per person, using the fields "name", "age", "job".',
        "\n\nList the phone numbers, IDs and e-mail addresses.",
    ),
    briefs=(
        "Extract name and city as JSON: {person} lives in {place}.",
        "Return JSON: {person}, {20-70}, {profession} at {company}.",
        "Write a JSON object that describes a {product}.",
        "Convert to JSON: name={person}, age={20-70}, city={place}",
        "Which words are names in this sentence: {person} met {doctor} in {place}?",
        "Make a CSV with five rows about {sport} players.",
        "Write an XML example for a {product} order.",
        "Extract the date: the meeting with {doctor} is on {weekday}, {mon} {1-28}.",
    ),
    supply=paragraphs,
)

TABLES = Topic(
    name="statistics_tables",
    kind="describe a table",
    subjects=bank(
        "{sport} league|sales of {company}|weather in {place}|grades in {field}|app downloads|animals in the zoo|"
        "airline delays|gym members|website visits|election results"
    ),
    heads=(
        "| name | place | {mon} | {mon} |\n|---|---|---|---|\n| {person} | {place} | {10-99} | {10-99} |\n",
        "Table: {subject}\nname, city, points, rating\n",
        'Spreadsheet "{subject}", columns: item; city; units; change\n',
    ),
    sentences=(
        "| {person} | {place} | {10-99} | {10-99} |",
        "{person}, {place}, {100-999}, {quality}",
        "{product}; {place}; {100-999}; {2-60}%",
        "| {animal} | {place} | {2-90} | {100-900} |",
        "{company}, {place}, {100-999}, {quality}",
    ),
    tails=(
        "\n\nWhich row has the highest value?",
        "\n\nDescribe the data in a paragraph.",
        "\n\nWhat trends do you see?",
        "\n\nSort the rows by the last column.",
        "\n\nWrite a short report for {doctor} based on the numbers.",
        "\n\nCompute the sum and the average of the numbers.",
        "\n\nConvert the table to sentences.",
        "\n\nMake a Markdown table of it and add a total.",
    ),
    briefs=(
        "Make a table of {4-9} {animal} facts.",
        "Create a Markdown table that compares three {product}s.",
        "Describe: {person} {10-99} points, {person} {10-99} points, {person} {10-99} points.",
        "What is the average of {10-99}, {10-99} and {10-99}?",
        "Sales in {place}: {100-900}, in {place}: {100-900}. Write one sentence.",
    ),
    supply=lines,
)

TRACES = Topic(
    name="error_reports",
    kind="diagnose",
    subjects=bank(
        "the web shop|the payment page|the {company} website|the login form|the mobile app|the chat bot|the database|"
        "the video player|the home network|the smart lock|the backup drive|the car's computer"
    ),
    heads=(
        "Bug report about {subject}\n\n",
        "Error messages from {subject}:\n",
        "Something is wrong with {subject}. Output:\n",
    ),
    sentences=(
        "[{10-23}:{10-59}] GET /{hobby}/{100-999} 404 not found",
        "[{10-23}:{10-59}] user {person} logged in from {place}",
        "TypeError: cannot read property '{animal}' of undefined (line {10-900})",
        "Traceback: File \"{sport}.py\", line {10-400}, in <module> KeyError: '{animal}'",
        "[{10-23}:{10-59}] payment of {10-900}.00 USD declined, code {100-999}",
        "warning: {product} temperature {60-110} C",
        "[{10-23}:{10-59}] POST /order 500 internal server error after {100-9000} ms",
        "update to version {2-9}.{0-9}.{0-9} failed: permission denied",
        "npm ERR! missing script: {sport}",
        "[{10-23}:{10-59}] password reset requested by {person}",
        "segmentation fault (core dumped), process {1000-9999}",
    ),
    tails=(
        "\n\nWhat is the problem?",
        "\n\nExplain each message.",
        "\n\nHow can I fix this? Give steps.",
        "\n\nWrite a bug ticket for the developers.",
        "\n\nWhich user was affected, and when?",
        "\n\nList the errors from most to least serious.",
        "\n\nSummarize what happened.",
    ),
    briefs=(
        "What does error {400-510} mean?",
        "My program says KeyError: '{animal}'. Why?",
        "How do I find out why {subject} is slow?",
        "Explain the message: permission denied.",
        "Write a short bug report about {subject}.",
        "What is a segmentation fault?",
        "What steps help when the Wi-Fi does not work?",
    ),
    supply=lines,
)

SUMS = Topic(
    name="maths_problems",
    kind="arithmetic",
    subjects=bank(
        "a school fair|a road trip|a {sport} tournament|a garden|a concert|a factory|a train ride|a bank account"
    ),
    heads=(
        "Math homework about {subject}.\n\n",
        "Facts for the exercise ({subject}): ",
        "Solve step by step.\n\n",
    ),
    sentences=(
        "{Person} drives {40-120} miles per hour for {2-9} hours.",
        "A ticket costs {5-60} dollars for adults and half of that for children.",
        "{Person} has {20-200} stickers and gets {2-50} more every {weekday}.",
        "The rectangle is {3-30} meters long and {2-20} meters wide.",
        "There are {12-40} students in a class, and {2-11} of them are ill.",
        "A {product} for {100-900} dollars is reduced by {5-60} percent.",
        "{Person} runs {3-20} kilometers in {20-90} minutes.",
        "{Company} makes {200-900} units per day in {2-9} factories.",
        "The bank pays {2-9} percent interest on {1000-9000} dollars.",
    ),
    tails=(
        "\n\nHow much is it altogether if you take the first two numbers? Explain your steps.",
        "\n\n{Hero} buys {3-12} boxes with {4-24} pens each. How many pens are there? Show your work.",
        "\n\nQuestion: what is {12-99} x {3-12}? Solve it step by step.",
        "\n\nWrite three questions that can be answered with these facts, with solutions.",
        "\n\n{Hero} had {50-99} dollars and spent {10-49}. How much is left? Let's think step by step.",
        "\n\nWhich of these facts can be combined, and what follows from them?",
    ),
    briefs=(
        "What is {12-99} + {12-99}?",
        "Calculate {3-19} * {12-99} and explain the steps.",
        "A train travels {100-400} km in {2-5} hours. What is its speed?",
        "Solve for x: {2-9}x + {2-30} = {31-99}",
        "{Person} has {20-90} apples and eats {2-9} each day. How long do they last?",
        "What is {5-60} percent of {100-900}?",
        "Convert {2-40} miles to kilometers.",
        "Find the area of a circle with radius {2-12}.",
        "If {3-9} shirts cost {20-90} dollars, what do {10-20} shirts cost?",
    ),
)

PLANS = Topic(
    name="project_notes",
    kind="e-mails and minutes",
    subjects=bank(
        "the website launch|the {sport} camp|the annual conference|the {company} contract|the school play|the "
        "charity run|"
        "the office move|the {field} workshop|the research paper|the hiring of a {profession}|the photo contest"
    ),
    heads=(
        "Meeting notes: {subject}\n",
        "To-do list of {hero} for {subject}:\n",
        "Messages in the team channel about {subject}:\n",
    ),
    sentences=(
        "{person} will call {company} before {weekday}",
        "budget: {200-9000} dollars, {10-90} percent spent",
        "{doctor} wants a {quality} report on {field} by {mon} {1-28}",
        "the {product} for {person} has not arrived",
        "{person} is ill until {weekday}; {person} takes over",
        "{person}: can we use {technology} instead?",
        "room for {10-90} people in {place}, {quality}",
        "decision: no {sport} on {weekday}",
        "risk: the {feature} is {quality}, ask {doctor}",
        "next meeting on {weekday} at {8-11} a.m.",
    ),
    tails=(
        "\n\nWrite an e-mail to {doctor} about this.",
        "\n\nWrite the minutes.",
        "\n\nWho has to do what, and by when?",
        "\n\nDraft a polite reminder to {person}.",
        "\n\nTurn this into a project plan with milestones.",
        "\n\nWrite a status update in five sentences.",
        "\n\nCompose a letter that invites {doctor} to the event.",
        "\n\nList the open questions.",
    ),
    briefs=(
        "Write an email to {doctor} asking for a meeting on {weekday}.",
        "Write a thank-you note to {person} for help with {subject}.",
        "Draft an invitation to {subject}.",
        "Write an out-of-office reply for {hero}, a {profession}.",
        "Write a resignation letter from a {profession} at {company}.",
        "Write a cover letter for a {profession} position at {company}.",
        "Write an agenda for a meeting about {subject}.",
        "Write a text message: {hero} will be {5-50} minutes late.",
        "Write a letter of recommendation for {person}, a {profession}.",
    ),
    supply=bullets,
)

DATA = (RECORDS, TABLES, TRACES, SUMS, PLANS)
