"""Training prompts around a text: summaries, questions, rewriting, translation, reviews, several documents."""

from specdec.prompts.families.grammar import bank
from specdec.prompts.families.training.topic import Topic, blocks, lines

NEWS = Topic(
    name="news_summary",
    kind="summarise",
    subjects=bank(
        "the {sport} final in {place}|a new bridge in {place}|the {company} merger|the election in {place}|a "
        "{animal} that "
        "escaped|a heat wave|the film festival|the teachers' strike|a data leak at {company}|the space mission|"
        "the new stadium|a record harvest|the marathon|the airport expansion|a rare {animal} in {place}|the flood"
    ),
    heads=(
        "BREAKING NEWS: {subject}\n\n",
        "{place}, {weekday}. Report on {subject}.\n\n",
        "Article: {subject}\nBy {person}\n\n",
        "Transcript of the evening news, item {2-9}, {subject}: ",
    ),
    sentences=(
        "{Doctor} told reporters on {weekday} that the situation was {quality}.",
        "More than {200-9000} people came to {place}, among them {person}, a {profession}.",
        "{Company} announced {2-90} million dollars for {technology} by {mon}.",
        "The decision surprised {profession}s in {place} and {place}.",
        "Police in {place} closed {2-12} streets for {3-20} hours.",
        "A spokesperson for {company} called the reports {quality}.",
        '{Person}, {18-80}, said: "I have never seen anything like it in {place}."',
        "Experts in {field} expect a {quality} outcome by {mon} {2030-2040}.",
        "The number of visitors rose by {2-60} percent compared with last {mon}.",
        "Critics say that {technology} would have been the {quality} choice.",
        "The weather on {weekday} will be {quality}, with up to {12-38} degrees.",
        "{Company} and {company} will meet again in {place} on {weekday}.",
    ),
    tails=(
        "\n\nSummarize the article in three sentences.",
        "\n\nWrite a headline and a one-paragraph summary.",
        "\n\nWhat are the key points? Use bullets.",
        "\n\nSummarize this for a busy {profession}.",
        "\n\nWho, what, when, where, why? Answer each.",
        "\n\nTL;DR",
        "\n\nWhat happened, and what will happen next?",
        "\n\nWrite a tweet and a longer post about this news.",
    ),
    briefs=(
        "Write a news report about {subject}.",
        "Write a headline about {subject}.",
        "Summarize in one sentence: {person}, a {profession} from {place}, won {2-90} thousand dollars in a "
        "{sport} lottery.",
        "Summarize: {company} will open {3-40} offices in {place} and hire {100-900} {profession}s by {mon}.",
        "Shorten: The {quality} {animal} that had been missing for {2-30} days was seen again in {place} on {weekday}.",
    ),
)

LESSON = Topic(
    name="textbook_questions",
    kind="questions on a text",
    subjects=bank(
        "the {animal}|penguins of the south|how bees dance|the Amazon river|a famous {sport} player|the first "
        "computers|"
        "the history of {place}|the planet Jupiter|life in a submarine|the great library|the invention of the "
        "telephone|"
        "the desert fox|sharks|the Vikings|the pyramids|Marie Curie|electric trains|the Great Wall"
    ),
    heads=(
        "Read the text about {subject} and answer the question.\n\n",
        "Chapter {2-20}: {subject}\n\n",
        "Context: ",
        "Encyclopedia: {subject}. ",
    ),
    sentences=(
        "It was first described in {1850-1990} by {doctor} in {place}.",
        "About {20-900} of them were counted near {place} in {mon}.",
        "Unlike the {animal}, it lives for {3-80} years.",
        "Its length is {2-40} meters and its weight about {30-900} kilograms.",
        "Researchers in {field} still argue about its {quality} role.",
        "In {1901-1999} {person} and {person} wrote a book on it.",
        "The largest one can be seen in {place}, open from {mon} to {mon}.",
        "During the winter it depends on the {animal}.",
        "{Doctor} won a prize in {field} for this work in {1950-2020}.",
        "Today {technology} helps to protect it.",
        "Children in {place} learn about it in grade {2-9}.",
        "It was forgotten for {20-300} years until {person} found it by accident.",
    ),
    tails=(
        "\n\nQuestion: Who described it first, and where?\nAnswer:",
        "\n\nQuestion: What does the text say about numbers and sizes?",
        "\n\nWrite {3-5} quiz questions with answers about this text.",
        "\n\nIs the following true or false: it was never studied by scientists? Explain with the text.",
        "\n\nList all names and years in the text.",
        "\n\nQuestion: Why is it important today? Answer in full sentences.",
        "\n\nExplain the text to a ten-year-old.",
        "\n\nWhat is the main idea of this passage?",
    ),
    briefs=(
        "Write an encyclopedia entry about {subject}.",
        "Write five quiz questions about {subject}.",
        "Text: {person} moved from {place} to {place} in {1950-2020}. Question: Where did {person} live before?",
        "Text: The {animal} eats {2-30} kilos a day. Question: How much does it eat in a week?",
        "True or false: a {animal} is larger than a {animal}?",
    ),
)

POLISH = Topic(
    name="rewriting",
    kind="rewrite and correct",
    subjects=bank(
        "my cover letter|a product description|a complaint|my blog post|a speech|a love letter|a report for {doctor}|"
        "an apology|the club newsletter|an essay for school|a resume|an invitation|a message to the team|a press "
        "release"
    ),
    heads=(
        "Here is {subject}:\n\n",
        'Please improve {subject}.\n\n"',
        "Draft {2-9} of {subject}, by {hero}:\n\n",
    ),
    sentences=(
        "I am writing to you because i want to work at {company} as a {profession}.",
        "We was very happy with the {product} but the {feature} are {quality}.",
        "In {mon} me and {person} has organised a {sport} event in {place}.",
        "The thing is, {hobby} is like, super important for {profession}s, you know.",
        "It is my opinion that {technology} should of been used more early.",
        "{person} gave a talk on {field} it was {quality} and everyone liked it alot.",
        "Their are {3-40} reasons why {place} is better then {place}.",
        "Due to the fact that the {feature} was {quality}, a decision was made by {company}.",
        "I have {2-20} years of experience in {field} and {hobby}.",
        "Me and my {animal} lives in {place} since {2001-2020}.",
        "Your {feature} dont work, and nobody answer my mails since {weekday}.",
    ),
    tails=(
        "\n\nFix the grammar.",
        "\n\nRewrite it in a formal tone.",
        "\n\nMake it shorter and clearer.",
        "\n\nRewrite this so that it sounds enthusiastic.",
        "\n\nCorrect all errors and list them.",
        "\n\nParaphrase this text.",
        "\n\nMake it more persuasive.",
        "\n\nRewrite it in the third person.",
        "\n\nRewrite in the past tense.",
    ),
    briefs=(
        "Fix the grammar: me and {person} goes to {place} on {weekday}.",
        "Rewrite formally: hey, your {product} is {quality}, I want my money back.",
        "Make this sound friendlier: Send me the {field} report by {weekday}.",
        "Paraphrase: {technology} has changed the life of every {profession} in {place}.",
        "Shorten this sentence: Because of the fact that {company} has {quality} {feature}, I will not buy it.",
        "Correct the spelling: I recieved the {product} tommorow and it was grate.",
        "Put into passive voice: {person} sold the {product} to {person}.",
    ),
)

LANGUAGES = Topic(
    name="translations",
    kind="translate",
    subjects=bank("French|Spanish|German|Italian|Portuguese|Dutch|Latin|Swedish"),
    heads=(
        "English phrases for our {subject} course:\n\n",
        "Please translate into {subject}.\n\n",
        "Subtitles to be translated into {subject}:\n",
    ),
    sentences=(
        "Where is the {product}?",
        "My brother is a {profession} in {place}.",
        "On {weekday} we play {sport} with {person}.",
        "The {animal} sleeps under the tree.",
        "I would like to learn {hobby} in {mon}.",
        "How much does the {product} cost?",
        "The {animal} is bigger than the {animal}.",
        "She works for {company} and studies {field}.",
        "Good morning, {doctor}, how are you today?",
        "They have lived in {place} for {2-30} years.",
        "Do you like {technology}?",
        "The weather in {place} is {quality} in {mon}.",
    ),
    tails=(
        "\n\nTranslate each line into {subject}.",
        "\n\nGive the {subject} translation beside each sentence.",
        "\n\nTranslate into {subject} and explain the difficult words.",
        "\n\n{Subject}:",
        "\n\nWrite all of this in {subject}.",
    ),
    briefs=(
        "Translate into {subject}: The {animal} is {quality}.",
        'How do you say "I am a {profession}" in {subject}?',
        "Translate to {subject}: On {weekday}, {person} goes to {place}.",
        "Teach me {4-9} words in {subject} about {hobby}.",
        "Count from one to {10-20} in {subject}.",
        'Translate "good morning, my friend" into {subject} and two other languages.',
    ),
    supply=lines,
)

REVIEWS = Topic(
    name="product_reviews",
    kind="judge and reply",
    subjects=bank(
        "a {product} by {company}|the {company} app|a flight with {company}|a film about {hobby}|the new {sport} game|"
        "a {field} textbook|a restaurant in {place}|a {hobby} class|the hotel near the station|a musical in {place}"
    ),
    heads=(
        "Customer reviews of {subject}:\n",
        "What people say about {subject}.\n",
        "Reviews ({subject}), newest first:\n",
    ),
    sentences=(
        '"{Quality} {feature}, {quality} {feature}. {1-5} stars." ({person})',
        "{person}: I returned it after {2-20} days because of the {feature}.",
        "{1-5}/5 - Bought for my daughter, who is a {profession}. The {feature} is {quality}.",
        '"Better than the one from {company}, but the {feature} broke in {mon}." - {person}, {place}',
        "{person} from {place}: {feature} {quality}, would buy again.",
        '"Never again! {Feature} and {feature} were {quality}." - a {profession}',
        "{1-5} stars. My {animal} loves it.",
        "It says {20-90} hours on the box; I got {2-19}. {Quality}.",
    ),
    tails=(
        "\n\nClassify each review as positive, negative or neutral.",
        "\n\nWhat do customers like and dislike?",
        "\n\nWrite a reply from customer service to the angriest customer.",
        "\n\nSummarize the reviews in a short paragraph.",
        "\n\nWould you recommend it? Give reasons from the reviews.",
        "\n\nWhich features are mentioned most often?",
        "\n\nWrite a new review that is fair to all of these.",
    ),
    briefs=(
        "Write a review of {subject}.",
        'Is this review positive or negative? "The {feature} is {quality} and the {feature} is {quality}."',
        "Write a product description for a {product} with {quality} {feature}.",
        "Reply to a customer whose {product} arrived broken.",
        "Write an advertisement for a {product} by {company}.",
        "Write a complaint to {company} about the {feature} of a {product}.",
    ),
    supply=lines,
)

SOURCES = Topic(
    name="several_sources",
    kind="compare documents",
    subjects=bank(
        "the theft of the {product}|the accident in {place}|hiring a {profession}|a scholarship in {field}|the "
        "best {sport} "
        "team|the school trip|the lost {animal}|the new office of {company}|who invented {technology}|the budget "
        "of the "
        "{hobby} club"
    ),
    heads=(
        "Several people wrote about {subject}.",
        "Evidence in the case of {subject}:",
        'Search results for "{subject}":',
    ),
    sentences=(
        "Source {2-9} ({person}, {profession}): It happened in {place} on {weekday}. I saw {person} with a {product}.",
        "Witness {person}: On {weekday} at {2-9} p.m. I was in {place}. The {product} was {quality}. I did not "
        "see {person}.",
        "E-mail from {doctor}: We can pay {200-9000} dollars. {Person} has {2-12} years in {field}, and {person} "
        "is {quality}.",
        "Web page {2-30}: {company} says {10-90} percent of {profession}s prefer {hobby}. The survey was made in "
        "{mon}.",
        "Note by {doctor}: {person} is {quality} at {sport}, though {place} seems {quality} to me.",
        'Chat: "{person}, did you tell {company}?" "Not before {weekday}, because the {feature} is {quality}."',
        'Interview with {person}: "I have studied {field} in {place} and I love {hobby}. My {animal} comes along."',
    ),
    tails=(
        "\n\nWhat do the sources agree on?",
        "\n\nWhich source is the most reliable? Explain.",
        "\n\nCombine everything into one report.",
        "\n\nList the contradictions.",
        "\n\nAnswer with references: what do we know about {subject}?",
        "\n\nMake a timeline of the events.",
    ),
    briefs=(
        "{Person} says Monday, {person} says {weekday}. How can we find out who is right?",
        "Source A: {company} earned {2-90} million. Source B: {company} lost {2-90} million. What could explain this?",
        "How do I check whether a web page about {technology} is reliable?",
        "Compare two candidates: {person}, {2-20} years in {field}, and {person}, {2-20} years in {field}.",
    ),
    supply=blocks,
)

READING = (NEWS, LESSON, POLISH, LANGUAGES, REVIEWS, SOURCES)
