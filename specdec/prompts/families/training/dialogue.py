"""Training prompts of several turns: a tutor, a doctor's desk, a shop, a coach, a game."""

from specdec.prompts.families.grammar import bank
from specdec.prompts.families.training.topic import Topic

TUTOR = Topic(
    name="tutor_chat",
    kind="dialogue",
    subjects=bank(
        "{field}|{sport}|{hobby}|{technology}|a school project on the {animal}|an essay about {place}|an exam in "
        "{field}|"
        "my presentation on {technology}"
    ),
    heads=(
        "Hi! Can you help me with {subject}?\nOf course! What would you like to know?",
        "I need to understand {subject} by {weekday}.\nNo problem, {weekday} is doable. Where do you want to start?",
        "My name is {hero} and I am a {profession}. I'm interested in {subject}.\nNice to meet you, {hero}! Ask "
        "me anything.",
    ),
    sentences=(
        "What should I learn first?\nStart with the basics of {field}; {person} wrote a {quality} guide to it.",
        "How long will it take?\nAbout {2-12} weeks, if you practice on {weekday} and {weekday}.",
        "Is it hard?\nSome parts are {quality}, but a {profession} like you can do it.",
        "Do I need a {product}?\nNot at first. A {product} costs about {50-900} dollars.",
        "{Person} said that {hobby} helps. Right?\nYes, {hobby} is {quality} practice, above all in {mon}.",
        "Can you give me an example?\nSure. Imagine {person}, who lives in {place} and has a {animal}.",
        "I don't understand that.\nThink of {sport}: you train {2-6} times, then you play.",
        "Where can I take a course?\n{Company} offers one in {place} every {mon}.",
        "What about {technology}?\nThat is useful later; for now {field} is enough.",
        "Thanks. Is there a test?\nYes, with {10-60} questions, and you need {50-80} percent.",
    ),
    tails=(
        "Please summarize what I have learned so far.",
        "OK, now explain it again from the beginning, step by step.",
        "Make a study plan for me.",
        "Give me three practice questions with answers.",
        "What are the most important points?",
        "Why does that matter in real life?",
        "Tell me more about it.",
        "Write a short text about it that I can present to {doctor}.",
    ),
    briefs=(
        "Hello! Who are you?",
        "Hi, can you help me with {subject}?",
        "Can you recommend a book about {field}?",
        "I am bored. What can I do in {place}?",
        "Tell me a joke about a {profession}.",
        "What do you think about {technology}?",
        "Pretend that you are a {profession} and introduce yourself.",
        "Let's talk about {hobby}.",
        "How are you today? I just came back from {place}.",
    ),
    turns=True,
)

CLINIC = Topic(
    name="clinic_chat",
    kind="dialogue",
    subjects=bank(
        "a headache|my knee|a cough|an appointment|back pain|my {animal}|a rash|a sore throat|my membership|an "
        "order of "
        "{product}s|a gym contract|my flight to {place}|a parking ticket|my bank card|a haircut"
    ),
    heads=(
        "Good morning, I'm calling about {subject}.\nGood morning, this is {doctor}'s office. How can we help?",
        "Hello, it's {hero}. It is about {subject} again.\nHello {hero}, what happened?",
        "I have a question about {subject}.\nI am happy to help. May I have your name?",
    ),
    sentences=(
        "My name is {person}, and my number is {10000-99999}.\nThank you, {person}. I see you were here in {mon}.",
        "It started on {weekday}.\nDid you do any {sport} before that?",
        "Yes, for {2-9} hours, in {place}.\nThat may be the reason. Please rest until {weekday}.",
        "How much will it cost?\nBetween {20-90} and {100-300} dollars, depending on {company}.",
        "Can I come on {weekday}?\n{Weekday} at {8-11} a.m. is free. Is that {quality} for you?",
        "Could {person} pick it up?\nYes, with a signed letter from {doctor}.",
        "I also feel {quality} in the morning.\nDrink {2-9} glasses of water and walk for {10-60} minutes.",
        "I paid {20-200} dollars already.\nI can see only one payment, from {mon} {1-28}.",
        "Is {hobby} allowed?\n{Hobby} is fine, {sport} is not, says {doctor}.",
        "I lost the papers in {place}.\nNo problem, {company} keeps a copy for {2-10} years.",
    ),
    tails=(
        "What do you suggest now?",
        "Please send me a written summary of this call.",
        "So what exactly do I have to do, and when?",
        "I am not happy with this. What are my options?",
        "Can you explain why?",
        "Could you repeat all dates and costs?",
        "Write a message to {doctor} with the details.",
    ),
    briefs=(
        "What helps against {subject}?",
        "I'd like to cancel {subject}. What do I say?",
        "Write a dialogue between a customer and a {profession} about {subject}.",
        "Role play: you are {doctor}. I ask about {subject}.",
        "What questions should I ask a {profession} about {subject}?",
        "Write a phone script for the office of {doctor}.",
    ),
    turns=True,
)

DIALOGUE = (TUTOR, CLINIC)
