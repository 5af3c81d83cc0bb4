"""Words of the training prompts: names, places and topics that no evaluation prompt uses."""

from specdec.prompts.families.grammar import bank

SHARED = {
    "person": bank(
        "Alice|Ben|Carla|David|Emma|Frank|Grace|Henry|Isla|Jack|Kate|Liam|Maya|Noah|Olivia|Peter|Rachel|Sam|Tom|"
        "Victoria|"
        "Will|Zoe|Adam|Beth|Carlos|Diana|Ethan|Fatima|George|Helen|Ivan|Julia|Kevin|Laura|Marcus|Nina|Oscar|Paula|Ryan|"
        "Sophie|Theo|Uma|Vince|Wendy|Xavier|Yuki|Zack"
    ),
    "doctor": bank(
        "Dr Adams|Mr Baker|Mrs Chen|Ms Diaz|Professor Evans|Mr Fischer|Mrs Gupta|Coach Harris|Ms Ito|Mr Johnson|"
        "Officer Kelly|Mrs Lopez|Dr Miller|Ms Novak|Mr O'Brien|Mrs Patel|Dr Rossi|Ms Smith|Mr Taylor|Director Wong"
    ),
    "place": bank(
        "London|Paris|Chicago|Tokyo|Berlin|Madrid|Boston|Cairo|Lima|Seoul|Sydney|Toronto|Dublin|Vienna|Oslo|"
        "Denver|Kyoto|"
        "Lagos|Prague|Rio|Seattle|Delhi|Athens|Geneva|Houston|Bogota|Warsaw|Nairobi|Atlanta|Lisbon"
    ),
    "weekday": bank("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"),
    "mon": bank("January|February|March|April|May|June|July|August|September|October|November|December"),
    "quality": bank(
        "excellent|poor|average|strong|weak|stable|mixed|promising|disappointing|remarkable|acceptable|unusual|"
        "critical|"
        "simple|complex|safe|risky|modern|old|popular|expensive|cheap"
    ),
    "animal": bank(
        "tiger|penguin|giraffe|otter|panda|zebra|wolf|dolphin|eagle|gorilla|camel|lynx|parrot|tortoise|seal|"
        "rhino|koala|"
        "crocodile|flamingo|lemur|bison|octopus"
    ),
    "sport": bank(
        "football|tennis|basketball|rowing|judo|volleyball|hockey|cycling|climbing|fencing|rugby|badminton|handball|"
        "water polo|table tennis|cricket|archery|boxing"
    ),
    "technology": bank(
        "electric cars|solar panels|smartphones|artificial intelligence|3D printing|robots|drones|batteries|the "
        "internet|"
        "cloud computing|wind turbines|satellites|virtual reality|vaccines|quantum computers|social media|video games|"
        "self-driving cars|smart watches|search engines|microchips|online banking"
    ),
    "hobby": bank(
        "photography|chess|gardening|yoga|running|knitting|painting|hiking|dancing|reading|surfing|guitar|birdwatching|"
        "blogging|pottery|fishing|coding|singing|sailing|meditation|drawing|camping"
    ),
    "field": bank(
        "biology|economics|history|psychology|physics|chemistry|law|medicine|philosophy|geography|computer "
        "science|music "
        "theory|statistics|architecture|linguistics|astronomy|sociology|engineering"
    ),
    "profession": bank(
        "teacher|engineer|lawyer|pilot|journalist|scientist|manager|doctor|programmer|designer|accountant|student|"
        "police officer|architect|chef|salesperson|data analyst|photographer|athlete|biologist|firefighter|consultant"
    ),
    "company": bank(
        "Northwind Systems|Bluepeak|Solaris Foods|Quantix|Greenleaf Energy|Metro Air|Harbor "
        "Bank|Pixelworks|Vertex Labs|"
        "Sunrise Media|Orbit Telecom|Maple Insurance|Titan Motors|Cloudnine Travel|Fresh Basket|Nova Health|Ironclad "
        "Security|Brightside Schools"
    ),
    "product": bank(
        "laptop|headphones|running shoes|backpack|tablet|camera|office chair|monitor|water bottle|jacket|keyboard|"
        "microwave|treadmill|sunglasses|speaker|desk|suitcase|helmet|tent|blender|drone|mattress|watch|game console"
    ),
    "feature": bank(
        "battery life|screen|price|weight|sound|delivery time|customer service|packaging|comfort|design|warranty|speed|"
        "noise level|instructions|durability|colour choice|zip|size|software|return policy"
    ),
}
"""Banks that every training family may draw from."""

PAD_OPENINGS = ("\n\nPlease keep in mind:", "\nStyle:", " Please note:")
PAD_ITEMS = bank(
    "be concise|use simple English|give details|use bullet points|use short sentences|explain your reasoning|answer "
    "directly|do not repeat yourself|be polite|be specific|stay on topic|include examples|write professionally|be "
    "creative|be accurate|keep it short|use paragraphs|avoid slang|check your work|think step by step|be complete|"
    "write for beginners|write for experts|no introduction|no conclusion|be objective|add a summary|use numbers|"
    "one topic per paragraph|be friendly|be formal|be brief|be clear|help|thanks|please|quickly|now|today|urgent|"
    "in English|for school|for work|for a blog|for my boss|for a friend|for children|with headings|without headings|"
    "in your own words|as plain text|as a list|with a title|in the present tense|in the past tense"
)
"""Closing remarks that bring a training prompt to its exact length."""
