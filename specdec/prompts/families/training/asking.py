"""Training prompts without a document: questions, advice, lists, stories, comparisons, poems, plans."""

from specdec.prompts.families.grammar import bank
from specdec.prompts.families.training.topic import Topic, bullets, lines, paragraphs

QUESTIONS = Topic(
    name="general_questions",
    kind="questions",
    subjects=bank(
        "volcanoes|the human heart|black holes|democracy|the Roman Empire|DNA|climate change|the stock market|sleep|"
        "vitamins|the immune system|the French Revolution|memory|antibiotics|earthquakes|the moon landing|plate "
        "tectonics|"
        "the Olympic Games|blood pressure|machine learning|the ozone layer|recycling|the Cold War|calories|jet engines|"
        "rainforests|allergies|coral reefs|the Silk Road|taxes|hurricanes|dinosaurs|encryption|the brain|deserts|"
        "copyright|the Renaissance|nuclear power|bacteria|advertising"
    ),
    heads=(
        "I have some questions about {subject} for a {field} class.\n\n",
        "Quiz night on {subject}. Here is what people want to know:\n\n",
        "My students asked the following about {subject}:\n\n",
        "FAQ draft, subject: {subject}\n\n",
    ),
    sentences=(
        "What is {subject}, and why does it matter to a {profession}?",
        "How would the world look without {subject}?",
        "Is there a link between {subject} and {technology}?",
        "What do people in {place} think about {subject}?",
        "{Person} read that {subject} can be {quality}. Is that correct?",
        "Which {field} book explains {subject} best?",
        "What are {3-7} common myths about {subject}?",
        "Who discovered the most important facts about {subject}?",
        "Can {hobby} teach us anything about {subject}?",
        "When did {field} begin to deal with {subject}?",
    ),
    tails=(
        "\n\nAnswer the first question in detail.",
        "\n\nGive a short answer to each question.",
        "\n\nWrite one paragraph that answers as many of these as possible.",
        "\n\nWhich question is the hardest, and what is its answer?",
        "\n\nAnswer these questions as a {profession} would.",
        "\n\nPick three of them and answer each in two sentences.",
    ),
    briefs=(
        "What is {subject}?",
        "Explain {subject} to a {profession}.",
        "Why is {subject} important?",
        "Give me {3-9} facts about {subject}.",
        "How does {subject} work?",
        "What are the advantages and disadvantages of {technology}?",
        "Who invented {technology}?",
        "What is the difference between {subject} and {technology}?",
        "Tell me about the history of {subject}.",
        "What are the main causes and effects of {subject}?",
        "Define {subject} in one sentence.",
        "What is the capital of the country in which {place} lies, and what is it known for?",
        "How has {technology} changed the work of a {profession}?",
        "What does a {profession} do all day?",
        "How does the {animal} survive in the wild?",
    ),
    supply=lines,
)

ADVICE = Topic(
    name="life_advice",
    kind="advice",
    subjects=bank(
        "a job interview|learning a language|saving money|public speaking|moving to {place}|training for a marathon|"
        "writing a thesis|raising a puppy|starting a business|eating healthily|managing stress|buying a used car|"
        "studying for exams|making new friends|working from home|sleeping better|a first date|time management|"
        "quitting smoking|negotiating a salary|adopting a cat|renting an apartment|learning {hobby}|changing careers"
    ),
    heads=(
        "{Hero} needs advice on {subject}. Some background:\n\n",
        "Dear advice column, I am a {profession} and struggle with {subject}.\n\n",
        "I'd like your help with {subject}. This is my situation. ",
        "About me and {subject}:\n",
    ),
    sentences=(
        "I have {2-9} weeks and about {100-900} dollars.",
        "My friend {person}, a {profession}, says that {hobby} helped.",
        "So far I tried {hobby}, but the result was {quality}.",
        "I live in {place} and work until {5-9} p.m. on most days.",
        "The biggest problem is that I lose motivation every {weekday}.",
        "{Person} thinks I should wait until {mon}.",
        "I have already read {2-12} articles about it and feel confused.",
        "In {place} it is hard to find a {quality} {profession}.",
        "My partner prefers {hobby} and does not understand why I care.",
        "Last {mon} I failed because I was too nervous.",
        "I use a {product} for it every {weekday}.",
    ),
    tails=(
        "\n\nWhat should I do first? Give me a plan.",
        "\n\nPlease give {hero} {4-8} practical tips.",
        "\n\nWrite an encouraging reply.",
        "\n\nList the mistakes I should avoid.",
        "\n\nWhat would an expert recommend, and why?",
        "\n\nMake a weekly schedule for me.",
    ),
    briefs=(
        "Give me {3-8} tips for {subject}.",
        "How do I prepare for {subject}?",
        "What is the best way to get started with {hobby}?",
        "Write a checklist for {subject}.",
        "I'm nervous about {subject}. Any advice?",
        "How can a {profession} get better at {subject}?",
        "Describe a good daily routine for a {profession}.",
        "What equipment do I need for {sport}?",
        "Suggest a weekly plan for {subject}.",
        "How much time does {hobby} take, and is it worth it?",
        "What should I never do when it comes to {subject}?",
    ),
)

IDEAS = Topic(
    name="idea_lists",
    kind="lists",
    subjects=bank(
        "names for a {animal}|team-building games|science fair projects|birthday presents for a "
        "{profession}|slogans for "
        "{company}|blog titles on {hobby}|questions for an interview with a {profession}|ways to save energy at school|"
        "ideas for a {sport} club|uses of {technology}|podcast episodes about {field}|fundraising ideas|icebreakers|"
        "healthy snacks|rainy day activities|New Year's resolutions|features for a new {product}|class rules|"
        "features of a good {profession}|warm-up exercises for {sport}"
    ),
    heads=(
        "We are brainstorming {subject}. Suggestions so far:\n",
        "Whiteboard of the {weekday} meeting: {subject}\n",
        "{Hero} collects {subject}. Already on the list:\n",
    ),
    sentences=(
        "{hobby} with {person} in {place}",
        "something with {technology}",
        "a {quality} {product} for every {profession}",
        "the {animal} idea from {company}",
        "{sport} on {weekday} at {2-9} p.m.",
        "ask {person}, who knows {field}",
        "{quality}, but under {10-90} dollars",
        "what {company} did in {mon}",
        "{feature} first, then {feature}",
    ),
    tails=(
        "\n\nAdd ten more.",
        "\n\nChoose the best three and explain your choice.",
        "\n\nSort these into categories and add two per category.",
        "\n\nGive me a numbered list of {5-12} better ones.",
        "\n\nTurn the most {quality} one into a short plan.",
        "\n\nRank them from best to worst with a reason for each.",
    ),
    briefs=(
        "List {5-15} {subject}.",
        "Give me a bulleted list of {subject}.",
        "Brainstorm {subject}.",
        "Name {4-10} {subject} and explain each one in one sentence.",
        "Top {5-10} {subject}?",
        "I need {subject}, quickly.",
        "List the parts of a {product} and what each does.",
        "List the rules of {sport}.",
        "Name ten famous people connected with {place}.",
    ),
    supply=bullets,
)

STORIES = Topic(
    name="creative_writing",
    kind="stories and poems",
    subjects=bank(
        "a robot who learns to paint|a lost {animal}|the last day of summer camp|a dragon with a cold|an "
        "astronaut alone|"
        "a time machine in {place}|two rival {profession}s|the haunted {product}|a {animal} who wants to "
        "fly|first snow in "
        "{place}|a detective without a case|a secret {sport} tournament|the invisible {profession}|an honest thief|"
        "the library at night|a voyage to Mars|a birthday without guests|the wizard's apprentice|a storm at sea"
    ),
    heads=(
        "Characters and ideas for a story about {subject}:\n\n",
        "Writing class, week {2-12}. Theme: {subject}.\n\n",
        "Outline of my film script, {subject}.\n\n",
    ),
    sentences=(
        "{Person} is a {profession} who secretly loves {hobby}.",
        "It is {mon}, and {place} is covered in fog.",
        "{Person} has not spoken to {person} for {2-30} years.",
        "A {animal} appears in every chapter.",
        "The {product} belonged to {person}'s grandmother.",
        "{Hero} is afraid of {technology}.",
        "In the end {person} forgives {person}.",
        "There is a chase through {place} at midnight.",
        "Nobody believes {hero} except the {animal}.",
        "The twist: {person} never was a {profession}.",
    ),
    tails=(
        "\n\nWrite the first scene.",
        "\n\nWrite the ending of this story.",
        "\n\nTell the whole story in about {100-300} words.",
        "\n\nWrite a dialogue between the two main characters.",
        "\n\nWrite a poem about this.",
        "\n\nDescribe the setting with all five senses.",
        "\n\nWrite it as a fairy tale for children.",
    ),
    briefs=(
        "Write a short story about {subject}.",
        "Write a poem about {subject}.",
        "Write a haiku about {place} in {mon}.",
        "Continue: Once upon a time, {hero} the {profession} met a {animal}.",
        "Write a funny story about {hero} and a {product}.",
        "Write a scene in which a {profession} meets {subject}.",
        "Write song lyrics about {hobby}.",
        "Describe {place} in the year 2{100-900}.",
        "Write a monologue of a {animal} in a zoo.",
        "Write a bedtime story about a {animal} and a {animal}.",
    ),
)

COMPARISONS = Topic(
    name="comparisons",
    kind="compare and argue",
    subjects=bank(
        "school uniforms|homework|city life and country life|online and classroom teaching|cats and dogs|books "
        "and films|"
        "{technology}|public transport and cars|{sport} and {sport}|early risers and night owls|a four-day week|"
        "zoos|cash and cards|pets at the office|tourism in {place}|exams|homework on weekends|fast "
        "fashion|vegetarian food"
    ),
    heads=(
        "Debate club, motion of the week: {subject}.\n\n",
        "Comments under an article about {subject}:\n\n",
        "People have different opinions on {subject}. ",
    ),
    sentences=(
        "{Person}, a {profession}, finds it {quality}.",
        "A study from {place} with {100-9000} people calls the effect {quality}.",
        "{Doctor} says it is bad for {hobby} and good for {sport}.",
        "According to {person}, it would cost {place} {2-90} million dollars.",
        "Young people in {place} disagree, says {company}.",
        "{Person} changed sides after a visit to {place} in {mon}.",
        "Every {profession} should try it for {2-9} weeks first, {person} writes.",
        "It saves time, but {doctor} worries about {technology}.",
        "{10-90} percent of {profession}s voted against it.",
    ),
    tails=(
        "\n\nSummarize the arguments for and against.",
        "\n\nWrite a balanced essay.",
        "\n\nWho has the best argument? Explain.",
        "\n\nMake a table of pros and cons.",
        "\n\nWrite a speech in favor of it.",
        "\n\nWhat is your conclusion?",
    ),
    briefs=(
        "Compare {technology} with {technology}.",
        "What are the pros and cons of {subject}?",
        "Is {sport} better than {sport} for a {profession}?",
        "Write a persuasive paragraph about {subject}.",
        "Compare {place} and {place} as cities to live in.",
        "Should we ban {technology}? Argue both sides.",
        "Which is better for beginners, {hobby} or {hobby}?",
        "Compare a {animal} with a {animal}.",
        "What are the similarities and differences between {field} and {field}?",
    ),
    supply=paragraphs,
)

ASKING = (QUESTIONS, ADVICE, IDEAS, STORIES, COMPARISONS)
