"""Texts in the languages that people speak to agents in, written for this benchmark and part of no fit."""

ENGLISH = """\
The migration of the orders table took longer than we had planned. We copied it in batches of fifty thousand rows, and after each batch the replica needed about a minute to catch up. On Thursday evening the disk of the second replica ran full, so we stopped, moved the archive partitions to cheaper storage, and started again on Friday morning.

Could you book me a train to Leipzig for Tuesday? I need to be at the fairground by ten, and I would rather change once than get up before five. A window seat in the quiet car would be lovely. Please put the receipt in the same folder as last time, since accounting asks for it at the end of every month.

I looked at the three failing tests. Two of them depend on the order in which the files are listed, which differs between machines; sorting the list fixes both. The third one is a real bug: the parser drops the last line of a file that does not end in a newline. I have a patch ready, but it changes the output for empty files as well, so somebody should look at it before it goes in.

Thanks for asking! My sister's wedding was wonderful, although it rained all afternoon and the band arrived an hour late. We danced in the barn until two in the morning. Next week I am going back to work, and in August we want to take the kids to the seaside, probably somewhere in Denmark, because last year Italy was simply too hot for them.

Summary of the call with the supplier: they confirm a delivery of 1,200 units by the end of March at the old price of 14.80 euros each. From April on the price rises to 15.35. If we order the rest of the year's volume now, they keep the old price but want forty percent in advance. Finance has to decide by Wednesday. Legal sees no problem with the contract apart from the clause about late delivery.

The assistant should never send an email without asking first. It may read the calendar, suggest times, and prepare drafts. When two meetings collide it should propose to move the one with fewer participants. Names of customers must not appear in the titles of events. If it is unsure about a time zone, it asks, because last spring we missed a demo on account of daylight saving time.

Error rates went up shortly after midnight. The gateway returned 502 for roughly three percent of all requests, nearly all of them uploads larger than eight megabytes. A restart did not help. What did help was raising the read timeout from thirty to ninety seconds, which suggests that the virus scanner behind it is the bottleneck. I opened a ticket with the team that runs it and attached the traces.

When you write documentation, begin with what the reader wants to do, not with what the program can do. Show one complete example that works when it is copied. Explain the words that you have made up, and make up as few as possible. Say what goes wrong most often and what to do then. Everything else belongs on a second page, which most people will never open, and that is fine.
"""

CHINESE = """\
我们上周把订单系统从旧服务器迁移到了新的集群,整个过程花了将近三天。第一天主要是复制历史数据,第二天切换了读流量,第三天才把写入也切过去。期间只出现过一次短暂的延迟,原因是备份任务和迁移任务同时运行,磁盘的吞吐量不够。现在一切正常,监控里也没有看到异常。

请帮我订一张周二去杭州的高铁票,最好是上午九点以前出发,二等座就可以,如果有靠窗的位置更好。酒店我想住在会场附近,价格不要超过六百元一晚。发票抬头还是写公司的名字,税号你那里应该有记录,订好以后把行程发到我的邮箱。

我看了一下那三个失败的测试,其中两个是因为文件列表的顺序在不同的机器上不一样,排序之后就没有问题了。第三个是真正的缺陷:如果文件的最后一行没有换行符,解析器就会把它丢掉。我已经准备好了补丁,不过它会改变空文件的输出,所以合并之前最好有人再检查一遍。

妈妈下个月过生日,我想给她准备一个惊喜。她喜欢喝茶,也喜欢听越剧,平时周末常去公园散步。要不我们提前订一家安静的餐馆,请几位老朋友一起来,再买一套好一点的茶具?你觉得怎么样?预算大概在两千块左右,太贵的东西她反而会不高兴。

与供应商的电话会议纪要:对方确认三月底之前交付一千二百件,单价维持不变。从四月开始,由于原材料上涨,价格会提高百分之三点七。如果我们现在把全年的数量都定下来,可以继续享受原来的价格,但需要预付百分之四十。财务部门必须在星期三之前作出决定,法务认为合同没有大问题。

助手在没有得到确认之前不能发送任何邮件。它可以查看日历、推荐合适的时间、起草回复。如果两个会议时间冲突,应该建议调整参加人数较少的那一个。客户的姓名不能出现在日程标题里。如果对时区没有把握,就先问清楚,因为去年春天我们就是因为时差错过了一次重要的演示。

昨天半夜以后错误率突然升高,网关大约有百分之三的请求返回了超时,几乎都是大文件上传。重启服务没有用,把读取超时从三十秒调到九十秒以后才恢复。这说明瓶颈很可能在后面的病毒扫描服务。我已经给负责的团队提了工单,并且附上了调用链的记录,希望他们今天能够处理。

学习一门新的语言,最重要的不是背单词,而是每天都能用到它。可以先从自己感兴趣的话题开始,听简单的故事,看短小的文章,然后试着用自己的话讲一遍。不要害怕犯错,错误会告诉你下一步该学什么。坚持三个月以后,你会发现很多句子已经不需要翻译就能明白了。
"""

JAPANESE = """\
先週、注文システムを古いサーバーから新しいクラスターに移行しました。作業には三日ほどかかり、初日は過去のデータのコピー、二日目は読み込みの切り替え、三日目に書き込みの切り替えを行いました。途中で一度だけ遅延が発生しましたが、バックアップと移行が同時に動いていたことが原因でした。今は問題なく動いています。

火曜日に京都へ行く新幹線を予約してもらえますか。できれば午前九時より前に出発する便で、窓側の席がいいです。ホテルは会場の近くで、一泊一万五千円以内でお願いします。領収書は前回と同じフォルダーに入れておいてください。経理から毎月末に確認の連絡が来ますので。

失敗している三つのテストを確認しました。そのうち二つは、ファイルの一覧の順番が環境によって違うことが原因で、並べ替えれば直ります。もう一つは本当の不具合で、最後の行に改行がないファイルを読むと、その行が無視されてしまいます。修正は用意しましたが、空のファイルの結果も変わるので、誰かに見てもらいたいです。

来月は母の誕生日なので、何か特別なことをしたいと思っています。母はお茶と古い映画が好きで、休みの日にはよく近くの公園を散歩しています。静かなお店を予約して、昔からの友達も呼んで、少し良い急須を贈るのはどうでしょうか。予算は二万円くらいで考えています。

仕入れ先との電話の要点です。三月末までに千二百個を今までと同じ価格で納品できるとのことです。四月からは原材料の値上がりのため、およそ四パーセント高くなります。今のうちに年間の数量を決めれば価格は据え置きですが、四割の前払いが必要です。経理は水曜日までに判断しなければなりません。

アシスタントは確認なしにメールを送ってはいけません。予定表を見たり、時間を提案したり、下書きを作ったりすることはできます。会議が重なったときは、参加者の少ない方を動かすように提案してください。お客様の名前を予定の題名に入れないでください。時差に自信がないときは、必ず聞いてください。

昨日の夜中から、エラーの割合が急に高くなりました。およそ三パーセントのリクエストがタイムアウトになり、そのほとんどが大きなファイルのアップロードでした。再起動しても変わらず、読み込みの待ち時間を三十秒から九十秒に延ばしたところ回復しました。ウイルス検査のサービスが遅いのだと思います。

説明書を書くときは、プログラムに何ができるかではなく、読む人が何をしたいかから始めましょう。そのまま動く例を一つ見せて、自分で作った言葉はできるだけ減らします。よくある失敗とその直し方も書いておくと親切です。それ以外のことは次のページに回しても、困る人はほとんどいません。
"""

RUSSIAN = """\
На прошлой неделе мы перенесли систему заказов со старого сервера на новый кластер. Работа заняла почти три дня: сначала мы копировали старые данные, потом переключили чтение, и только на третий день запись. Один раз возникла задержка, потому что резервное копирование шло одновременно с переносом и дискам не хватало скорости. Сейчас всё работает нормально.

Забронируй мне, пожалуйста, билет на поезд до Казани на вторник. Лучше всего выехать вечером в понедельник, чтобы утром уже быть на месте. Нужна нижняя полка, а если есть места у окна, то ещё лучше. Гостиницу выбери рядом с выставочным залом, не дороже пяти тысяч рублей за ночь. Чек положи в ту же папку, что и в прошлый раз.

Я посмотрел три упавших теста. Два из них зависят от порядка файлов в списке, а он на разных машинах разный; если список отсортировать, оба проходят. Третий показывает настоящую ошибку: если в конце файла нет перевода строки, последняя строка теряется. Исправление готово, но оно меняет вывод для пустых файлов, поэтому кто-то должен его проверить.

В следующем месяце у мамы день рождения, и мне хочется сделать ей приятное. Она любит чай и старые фильмы, по выходным часто гуляет в парке. Может быть, заказать столик в тихом ресторане, позвать её старых подруг и подарить хороший чайник? Я думаю потратить тысяч десять, слишком дорогие подарки её только смущают.

Итоги разговора с поставщиком: до конца марта они обещают привезти тысячу двести штук по прежней цене. С апреля из-за подорожания сырья цена вырастет примерно на четыре процента. Если мы закажем весь годовой объём сейчас, цена останется старой, но сорок процентов нужно заплатить вперёд. Бухгалтерия должна решить до среды, юристы возражений не имеют.

Помощник не должен отправлять письма без подтверждения. Он может смотреть календарь, предлагать время и готовить черновики ответов. Если две встречи пересекаются, лучше перенести ту, на которой меньше участников. Имена клиентов не должны появляться в названиях событий. Если есть сомнения в часовом поясе, нужно сначала спросить.

После полуночи резко выросло число ошибок. Примерно три процента запросов завершались по таймауту, и почти все они были загрузками больших файлов. Перезапуск не помог, помогло увеличение времени ожидания с тридцати до девяноста секунд. Похоже, что узкое место находится в службе проверки на вирусы. Я создал заявку для команды, которая её поддерживает.

Когда пишешь документацию, начинай с того, что хочет сделать читатель, а не с того, что умеет программа. Покажи один полный пример, который работает сразу после копирования. Объясни придуманные тобой слова и придумывай их как можно меньше. Расскажи, что чаще всего идёт не так и как это исправить. Всё остальное можно вынести на вторую страницу.
"""

CALLS: list[tuple[str, dict[str, object]]] = [
    ("search_flights", {"origin": "HAM", "destination": "LIS", "date": "2026-03-14", "passengers": 2, "cabin": "economy", "flexible_days": 3}),
    ("write_file", {"path": "src/billing/invoice.py", "content": "from decimal import Decimal\n\n\ndef total(lines: list[Line]) -> Decimal:\n    \"\"\"Return the sum of all lines, taxes included.\"\"\"\n    return sum((line.price * line.quantity for line in lines), Decimal(0))\n"}),
    ("edit_file", {"path": "docs/index.md", "edits": [{"old_string": "The service starts by itself.", "new_string": "Start the service with `make serve` before you run the tests."}, {"old_string": "TODO", "new_string": "See the page on deployment for the details."}]}),
    ("run_sql", {"query": "SELECT customer_id, COUNT(*) AS orders, SUM(total) AS revenue FROM orders WHERE created_at >= '2026-01-01' GROUP BY customer_id ORDER BY revenue DESC LIMIT 20", "database": "reporting"}),
    ("send_email", {"to": ["maria.keller@example.org", "j.novak@example.org"], "subject": "Minutes of Thursday's call", "body": "Hello both,\n\nplease find the minutes attached. The supplier keeps the price until the end of March; finance decides by Wednesday.\n\nBest regards"}),
    ("bash", {"command": "cd /srv/app && git fetch origin && git log --oneline origin/main..HEAD | head -20 && python -m pytest tests/unit -q --maxfail=3", "timeout": 120}),
    ("update_reservation", {"reservation_id": "QX7T4B", "user_id": "emma_schmidt_4821", "flights": [{"flight_number": "LH1170", "date": "2026-05-20"}, {"flight_number": "TP573", "date": "2026-05-27"}], "payment_id": "credit_card_5523917", "baggages": {"total": 2, "nonfree": 1}}),
    ("memory_search", {"query": "Which database did we choose for the reporting service and why?", "max_results": 10, "since": "2025-11-01"}),
    ("create_ticket", {"title": "Uploads above 8 MB time out behind the gateway", "priority": "high", "labels": ["gateway", "uploads"], "description": "Since midnight roughly three percent of all uploads fail with 502. Raising the read timeout to 90 seconds helps. The virus scanner is the likely bottleneck."}),
    ("translate", {"text": "请在星期三之前确认交货日期和付款条件。", "target_language": "en", "keep_formatting": True}),
    ("plot", {"kind": "line", "x": [1, 2, 3, 4, 5, 6, 7, 8], "y": [0.42, 0.57, 0.61, 0.73, 0.78, 0.81, 0.835, 0.8412], "title": "Accuracy by epoch", "x_label": "epoch", "y_label": "accuracy"}),
    ("http_request", {"method": "POST", "url": "https://api.example.org/v2/customers/8841/addresses", "headers": {"Content-Type": "application/json", "Idempotency-Key": "b7e0c1d2-5f3a-4f0e-9a64-2d1c8e7f6a55"}, "body": {"street": "Lindenallee 12", "postal_code": "20357", "city": "Hamburg", "country": "DE"}}),
    ("grep", {"pattern": "def .*compact", "path": "langgraph_harness_memory", "glob": "*.py", "output_mode": "content", "context": 2}),
    ("schedule_meeting", {"title": "Quarterly planning", "start": "2026-04-02T09:30:00+02:00", "duration_minutes": 90, "attendees": ["ana", "tomasz", "li.wei", "oksana"], "room": "Elbe", "agenda": ["Review of the first quarter", "Hiring", "Priorities until July"]}),
    ("think", {"thought": "The two failing tests depend on file order, so sorting fixes them. The third is a bug in the parser, which drops a last line without a newline. I should write a test for it first, then change the loop, and check what happens with empty files."}),
    ("apply_patch", {"patch": "--- a/parser.py\n+++ b/parser.py\n@@ -41,7 +41,8 @@ def parse(text):\n-    for line in text.split('\\n')[:-1]:\n+    lines = text.split('\\n')\n+    for line in lines if lines[-1] else lines[:-1]:\n         yield read(line)\n"}),
]  # fmt: skip
"""Tool calls of the kinds that agents make: a name and its arguments."""

RECORDS: list[object] = [
    {"id": 8841, "name": "Maria Keller", "email": "maria.keller@example.org", "tags": ["vip", "newsletter"], "balance": 129.9, "active": True, "address": {"city": "Hamburg", "zip": "20357", "country": "DE"}},
    {"orders": [{"sku": "TX-4410-B", "quantity": 3, "unit_price": 14.8}, {"sku": "TX-4411-A", "quantity": 12, "unit_price": 2.35}], "currency": "EUR", "total": 72.6, "paid_at": None, "created_at": "2026-02-11T16:03:27Z"},
    {"name": "orders-api", "version": "2.14.0", "scripts": {"build": "tsc -p tsconfig.json", "test": "vitest run", "lint": "eslint src --max-warnings 0"}, "dependencies": {"fastify": "^5.1.0", "pg": "^8.13.1", "zod": "^3.24.1"}},
    {"status": "error", "code": 422, "message": "The field 'postal_code' is not valid for the country DE", "details": [{"field": "postal_code", "value": "2035", "expected": "five digits"}], "request_id": "req_9f2c7b41aa"},
    {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [9.9937, 53.5511]}, "properties": {"name": "Hamburg", "population": 1910160}}, {"type": "Feature", "geometry": {"type": "Point", "coordinates": [12.3731, 51.3397]}, "properties": {"name": "Leipzig", "population": 616093}}]},
    [{"flight_number": "LH1170", "origin": "HAM", "destination": "LIS", "departs": "06:45", "arrives": "11:20", "seats": {"economy": 14, "business": 3}, "price": 189}, {"flight_number": "TP573", "origin": "LIS", "destination": "HAM", "departs": "17:05", "arrives": "21:35", "seats": {"economy": 2, "business": 8}, "price": 214}],
    {"metrics": {"requests": 184_223, "errors": 5_514, "p50_ms": 41, "p95_ms": 388, "p99_ms": 2_904}, "window": {"from": "2026-02-10T00:00:00Z", "to": "2026-02-11T00:00:00Z"}, "by_status": {"200": 176_980, "404": 1_729, "502": 5_514}},
    {"openapi": "3.1.0", "info": {"title": "Orders", "version": "2"}, "paths": {"/orders/{id}": {"get": {"operationId": "getOrder", "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}], "responses": {"200": {"description": "The order"}, "404": {"description": "There is no such order"}}}}}},
    {"user": {"用户名": "李伟", "城市": "杭州", "偏好": ["靠窗", "安静车厢"]}, "行程": [{"日期": "2026-03-17", "车次": "G7349", "出发": "上海虹桥", "到达": "杭州东"}]},
    {"messages": [{"role": "user", "content": "Which database did we choose?"}, {"role": "assistant", "content": "PostgreSQL, because of the reporting queries."}], "model": "gpt-5.5", "usage": {"input_tokens": 1_204, "output_tokens": 18}},
]  # fmt: skip
"""JSON of the kinds that tools return."""
