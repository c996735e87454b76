package demo

// person is somebody made up.
type person struct{ name, email string }

// people are the users of the full set, the demo user first.
var people = []person{
	{Name, Email},
	{"José Muñoz", "jose@example.com"},
	{"佐藤 美咲", "misaki@example.org"},
	{"Zoë Lindqvist", "zoe@example.com"},
	{"Oluwaseun Adeyemi", "seun@example.org"},
	{"Nguyễn Thị Lan", "lan@example.com"},
	{"Łukasz Kowalczyk", "lukasz@example.org"},
	{"Leïla Benali", "leila@example.com"},
	{"Søren Ødegård", "soren@example.org"},
}

// Person is somebody of the demo data.
type Person struct{ Name, Email string }

// People returns those who are in the smallest set, the demo user first: who manages the projects, and two who label.
func People() []Person {
	all := make([]Person, small.people)
	for i := range all {
		all[i] = Person{Name: people[i].name, Email: people[i].email}
	}
	return all
}

// topic is what a note can be about: a title is a task and perhaps a qualifier, a content a few details and perhaps a
// list of items.
type topic struct {
	tasks, qualifiers, details, items, updates, tags []string
	space                                            string // between task and qualifier
}

// anyTags go with every topic.
var anyTags = []string{"#urgent", "#waiting", "#someday", "☕", "⭐", "50%", "with: everybody", "to do"}

var updates = []string{
	"Update: called, they will ring back on Thursday.",
	"Update: half of it is done.",
	"Update: postponed, waiting for an answer.",
	"Update: it costs a little more than expected.",
	"Update: José offered to help.",
	"Update: checked twice, looks right now.",
}

var when = []string{
	"before the holidays", "for the spring", "with José", "for Misaki", "after the move", "this time in writing",
	"for the neighbours", "once more", "with Zoë and Seun", "by train", "for the summer", "before it snows", "at last",
	"without hurry", "for next year", "with Lan", "for the club", "for Leïla's birthday", "in the old town", "by hand",
	"for the reunion", "on a quiet day", "for two", "with Łukasz", "before Monday", "as a surprise", "from the list",
	"with the children", "for the archive", "after lunch",
}

var topics = []topic{
	{
		space: " ", qualifiers: when, updates: updates,
		tasks: []string{
			"Renew passport", "Pay the electricity bill", "Fix the kitchen tap", "Return the parcel", "Buy a birthday present",
			"Call the landlord", "Sort the cellar", "Defrost the freezer", "Order new keys", "Paint the hallway",
			"Change the smoke alarm battery", "Book the chimney sweep", "Clean the windows", "Compare insurance offers",
			"Take the bicycle to the workshop", "Write the shopping list",
		},
		details: []string{
			"The form is in the blue folder, second drawer.", "Ask for a receipt this time.", "Opening hours are nine to four, closed on Wednesday.",
			"Measure first: the last one was two centimetres too wide.", "There is a discount until the end of the month.",
		},
		items: []string{"identity card", "two photographs", "the old invoice", "screwdriver", "cash"},
		tags:  []string{"home", "errand", "🏠", "money", "#paper", "shopping list"},
	},
	{
		space: " ", qualifiers: when, updates: updates,
		tasks: []string{
			"Write the quarterly report", "Review the pull request", "Prepare the workshop", "Update the road map",
			"Answer the auditors", "Plan the release", "Interview a candidate", "Clean up the backlog", "Draft the newsletter",
			"Measure the new query", "Rotate the keys", "Test the backup", "Order a second screen", "Collect feedback",
			"Write the minutes", "Upgrade the build server",
		},
		details: []string{
			"Numbers are in the shared sheet; only the last column is new.", "Keep it to one page: nobody reads the second.",
			"The slow part is the list of labels. Measure before changing anything.", "Room 3.14 is booked, the projector is not.",
			"Open question: who signs?",
		},
		items: []string{"agenda", "slides", "test data", "invitation", "name tags"},
		tags:  []string{"work", "C#", "go", "q1#2027", "#review", "workshop", "📈"},
	},
	{
		space: " ", qualifiers: when, updates: updates,
		tasks: []string{
			"Practise the second movement", "Tune the harpsichord", "Copy the viola part", "Find a page turner", "Rehair the bow",
			"Book the rehearsal room", "Mark the fingerings", "Scan the cello suite", "Print the programme", "Compare the two editions",
			"Learn the alto line", "Invite the choir", "Record the trio", "Order rosin", "Transpose the song", "Number the bars",
		},
		details: []string{
			"From bar 48 on it has to breathe more.", "The first edition has a slur there, the second has none.",
			"Quarter note at 72, not faster.", "The parts are with the librarian.", "Bring pencils: everybody forgets pencils.",
		},
		items: []string{"metronome", "music stands", "spare strings", "pencils", "the score"},
		tags:  []string{"music", "🎻", "rehearsal", "f#minor", "choir", "scores/bach"},
	},
	{
		space: " ", qualifiers: when, updates: updates,
		tasks: []string{
			"Book the night train", "Pack for the mountains", "Ask about the visa", "Reserve the small hotel", "Print the tickets",
			"Learn ten words of Portuguese", "Find a cat sitter", "Check the tide table", "Change some money", "Rent a canoe",
			"Plan the walk along the coast", "Send postcards", "Look for the old map", "Charge the camera", "Compare ferries",
			"Buy a rail pass",
		},
		details: []string{
			"The connection in the north has only nine minutes; take the one before.", "The hotel by the station answers e-mails within the hour.",
			"No more than one bag each.", "The museum is free on the first Sunday of the month.", "Boots are with the shoemaker until Friday.",
		},
		items: []string{"passport", "rain jacket", "adapter", "map", "sunscreen", "book"},
		tags:  []string{"travel", "🚆", "🌊 sea", "booking", "#summer", "2027"},
	},
	{
		space: " ", qualifiers: when, updates: updates,
		tasks: []string{
			"Sow the tomatoes", "Prune the apple tree", "Repair the rain barrel", "Order bulbs", "Turn the compost", "Build a nesting box",
			"Water the seedlings", "Cut the hedge", "Plant garlic", "Sharpen the spade", "Collect seeds", "Mulch the beds",
			"Count the bees", "Mend the greenhouse", "Divide the rhubarb", "Bring in the lemon tree",
		},
		details: []string{
			"Not before the last frost.", "The neighbour has too many courgettes again; take some.", "South side, half a metre apart.",
			"The soil there is heavier than it looks.", "Last year it was too late by two weeks.",
		},
		items: []string{"gloves", "string", "labels", "watering can", "seed trays"},
		tags:  []string{"garden", "🌱", "🌱 seeds", "weekend", "#outdoors"},
	},
	{
		space: " ", qualifiers: when, updates: updates,
		tasks: []string{
			"Finish the novel", "Return the library books", "Read the paper on queues", "Lend the cookbook", "Write the review",
			"Look up the quotation", "Choose the next book", "Bind the diary", "Proofread the chapter", "Sort the shelves",
			"Translate the poem", "Find the first edition", "Listen to the lecture", "Copy the recipe", "Read to the children",
			"Renew the subscription",
		},
		details: []string{
			"Page 212: the part about the lighthouse.", "It is due back on the third, and they no longer send reminders.",
			"Start with the conclusion, then decide about the rest.", "The translation leaves out a whole verse.", "Seun has the second volume.",
		},
		items: []string{"bookmark", "library card", "notes from May", "dictionary"},
		tags:  []string{"reading", "📚", "library", "work", "#quote"},
	},
	{
		space: " ", qualifiers: when, updates: updates,
		tasks: []string{
			"See the dentist", "Get the vaccination", "Collect the glasses", "Sign up for the swimming course", "Refill the first-aid kit",
			"Try the new running route", "Ask about the knee", "Cook something green", "Sleep eight hours", "Stretch in the morning",
			"Book the eye test", "Donate blood", "Repair the tent", "Join the hiking group", "Buy running shoes", "Cancel the gym",
		},
		details: []string{
			"Bring the card and the list of questions.", "Ten minutes early: there is a form to fill in.", "The route along the canal is flat and dry.",
			"No coffee before it.", "They only take appointments in the morning.",
		},
		items: []string{"insurance card", "list of questions", "water bottle", "towel"},
		tags:  []string{"health", "🏃", "sport", "appointment", "#morning"},
	},
}

// japanese is a topic of its own, less frequent than the others.
var japanese = topic{
	tasks: []string{
		"楽譜を返す", "図書館へ行く", "新幹線を予約する", "母に電話する", "部屋を掃除する", "漢字を復習する", "写真を整理する",
		"お茶を買う", "年賀状を書く", "会議の資料を作る", "自転車を直す", "歯医者の予約をする", "荷物を送る", "レシピを写す",
		"バイオリンを練習する", "庭に水をやる",
	},
	qualifiers: []string{
		"（今週）", "（来月まで）", "（美咲と）", "（夏の前）", "（二回目）", "（急ぎ）", "（週末）", "（大阪）", "（家族と）", "（春）",
		"（確認）", "（友達へ）", "（学校）", "（午後）",
	},
	details: []string{
		"駅前の店は六時に閉まる。", "去年のメモを見ること。", "第二楽章は48小節から。", "予約の番号は手帳にある。", "雨なら来週にする。",
	},
	items:   []string{"財布", "切符", "鉛筆", "ノート", "傘"},
	updates: []string{"追記：半分終わった。", "追記：返事を待っている。", "追記：木曜日に変更。"},
	tags:    []string{"楽譜", "旅行", "買い物", "日本語", "🍵", "#至急"},
}
