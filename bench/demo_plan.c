/* bench/demo_plan.c - the made-up shop's tables. */
#include "bench/demo_plan.h"

#include "base/cleanup.h"
#include "model/event.h"

enum service {
	EDGE,
	SITE,
	IMAGES,
	CATALOG,
	BASKET,
	RATES,
	HINTS,
	FLAGS,
	BROWSER,
	ADVERTS,
	ORDERS,
	TILL,
	PARCELS,
	QUOTES,
	LETTERS,
	LEDGER,
	VISITORS
};

const struct demo_service demo_services[] = {
	[EDGE] = {"edge-proxy", "cpp", "1.32.3", 1},
	[SITE] = {"shop-site", "nodejs", "2.4.1", 15},
	[IMAGES] = {"image-files", "cpp", "2.4.1", 12},
	[CATALOG] = {"product-list", "go", "2.4.1", 25},
	[BASKET] = {"basket", "dotnet", "2.4.1", 3},
	[RATES] = {"rates", "cpp", "2.4.1", 2},
	[HINTS] = {"suggestions", "python", "2.4.1", 3},
	[FLAGS] = {"flags", "go", "0.12.3", 20},
	[BROWSER] = {"shop-browser", "webjs", "2.4.1", 8},
	[ADVERTS] = {"adverts", "java", "2.4.1", 5},
	[ORDERS] = {"orders", "go", "2.4.1", 5},
	[TILL] = {"till", "nodejs", "2.4.1", 5},
	[PARCELS] = {"parcels", "rust", "2.4.1", 5},
	[QUOTES] = {"quotes", "php", "2.4.1", 5},
	[LETTERS] = {"letters", "ruby", "2.4.1", 5},
	[LEDGER] = {"ledger", "dotnet", "2.4.1", 5},
	[VISITORS] = {"visitors", "python", "2.4.1", 5},
};
const size_t demo_service_n = ARRAY_SIZE(demo_services);

#define HTTP_SCOPE "@telemetry/instrumentation-http"
#define GRPC_SCOPE "@telemetry/instrumentation-grpc"
#define PAGE_SCOPE "page.js"
#define GO_SCOPE   "go.telemetry.example/contrib/instrumentation/grpc"

#define EGRESS(cluster_address)                                                                    \
	"http.protocol=HTTP/1.1|upstream_address=" cluster_address                                 \
	"|peer.address=" cluster_address "|component=proxy|upstream_cluster=%c"                    \
	"|upstream_cluster.name=%c|http.status_code=%t|response_flags=-"
#define CALL(service, method, host, port)                                                          \
	"rpc.system=grpc|rpc.method=" method "|rpc.service=shop." service "|net.peer.name=" host   \
	"|net.peer.port=#" port "|rpc.grpc.status_code=#0"
#define ROUTE(path)                                                                                \
	"page.span_name=run route " path "|page.span_type=Node.runHandler|http.status_code=#%t"
#define HANDLE                                                                                     \
	"page.span_name=%m %p|page.span_type=Server.handleRequest|http.method=%m|http.target=%p"   \
	"|http.status_code=#%t|page.rsc=?0"
#define REDIS "|server.address=basket-cache|server.port=#6379|db.redis.database_index=#0"

enum operation {
	INGRESS,
	EGRESS_SITE,
	EGRESS_IMAGES,
	EGRESS_FLAGS,
	EGRESS_TELEMETRY,
	SITE_HTTP,
	IMAGE,
	API_BASKET,
	RUN_BASKET,
	CALL_BASKET,
	BASKET_GET,
	BASKET_HGET,
	API_PRODUCTS,
	RUN_PRODUCTS,
	CALL_LIST,
	LIST,
	API_RATES,
	RUN_RATES,
	CALL_RATES,
	RATES_LIST,
	API_HINTS,
	RUN_HINTS,
	CALL_HINTS,
	HINTS_LIST,
	HINTS_PRODUCTS,
	HINTS_CALL,
	CALL_PRODUCT,
	PRODUCT,
	CALL_CONVERT,
	CONVERT,
	PAGE_HOME,
	PAGE_RESOLVE,
	PAGE_RENDER,
	FLAGS_ALL,
	FLAGS_ALL_SERVER,
	FLAGS_ALL_INNER,
	FLAGS_STREAM,
	FLAGS_INT,
	FLAGS_INT_SERVER,
	FLAGS_INT_INNER,
	BROWSER_GET,
	BROWSER_CLICK,
	VISIT,
	API_ORDER,
	CALL_ORDER,
	ORDER,
	ORDER_PREPARE,
	ORDER_CHARGE,
	TILL_CHARGE,
	ORDER_SHIP,
	PARCEL_SHIP,
	PARCEL_QUOTE,
	QUOTE,
	ORDER_MAIL,
	MAIL,
	ORDER_PUBLISH,
	LEDGER_RECEIVE,
	ADVERT_GET,
	BASKET_EMPTY,
	BASKET_HMSET,
};

const struct demo_operation demo_operations[] = {
	[INGRESS] = {EDGE, KIND_SERVER, 0, "ingress", "", 2600, 1.5,
		     "node_id=|zone=|guid:x-request-id=%r|http.url=http://edge-proxy:8080%p"
		     "|http.method=%m|downstream_cluster=-|user_agent=%a|http.protocol=HTTP/1.1"
		     "|peer.address=10.19.0.%v|request_size=%d|response_size=%z|component=proxy"
		     "|upstream_cluster=%c|upstream_cluster.name=%c|http.status_code=%t"
		     "|response_flags=%f"},
	[EGRESS_SITE] = {EDGE, KIND_CLIENT, 0, "router site egress", "", 5200, 1.1,
			 EGRESS("10.19.0.24:8080")},
	[EGRESS_IMAGES] = {EDGE, KIND_CLIENT, 0, "router images egress", "", 280, 0.6,
			   EGRESS("10.19.0.19:8081")},
	[EGRESS_FLAGS] = {EDGE, KIND_CLIENT, 0, "router flags egress", "", 1500, 2.0,
			  EGRESS("10.19.0.4:8013")},
	[EGRESS_TELEMETRY] = {EDGE, KIND_CLIENT, 0, "router telemetry egress", "", 430, 0.3,
			      EGRESS("10.19.0.9:4318")},
	[SITE_HTTP] = {SITE, KIND_SERVER, 0, "GET", HTTP_SCOPE, 3900, 1.1,
		       "http.url=http://edge-proxy:8080%p|http.host=%h:8080"
		       "|net.host.name=%h|http.method=%m|http.scheme=http|http.target=%p"
		       "|http.user_agent=%a|http.flavor=1.1|net.transport=ip_tcp"
		       "|net.host.ip=10.19.0.24|net.host.port=#8080|net.peer.ip=10.19.0.26"
		       "|net.peer.port=#%e|http.status_code=#%t|http.status_text=OK"},
	[IMAGE] = {IMAGES, KIND_SERVER, 0, "image-files", "nginx", 0, 0,
		   "http.method=%m|http.target=%p|http.scheme=http|http.flavor=1.1"
		   "|http.user_agent=%a|http.request_content_length=#0"
		   "|http.response_content_length=#%z|http.status_code=#%t|net.host.name=_"
		   "|net.host.port=#8081|net.sock.peer.addr=10.19.0.26|net.sock.peer.port=#%e"},
	[API_BASKET] = {SITE, KIND_SERVER, 0, "GET /api/basket", PAGE_SCOPE, 4800, 0.7, HANDLE},
	[RUN_BASKET] = {SITE, KIND_INTERNAL, 0, "run route /api/basket", PAGE_SCOPE, 4500, 0.7,
			ROUTE("/api/basket")},
	[CALL_BASKET] = {SITE, KIND_CLIENT, 0, "grpc.shop.Basket/Get", GRPC_SCOPE, 3900, 0.7,
			 CALL("Basket", "Get", "basket", "7070")},
	[BASKET_GET] = {BASKET,
			KIND_SERVER,
			0x301,
			"POST /shop.Basket/Get",
			"Server.AspNetCore",
			1700,
			0.8,
			"server.address=basket|server.port=#7070|http.request.method=POST"
			"|url.scheme=http|url.path=/shop.Basket/Get|network.protocol.version=2"
			"|user_agent.original=grpc-node-js/1.12.6|grpc.method=/shop.Basket/Get"
			"|app.user.id=%s|app.basket.items.count=#0|grpc.status_code=0"
			"|http.route=/shop.Basket/Get|http.response.status_code=#200",
			{{"Fetch basket", ""}}},
	[BASKET_HGET] = {BASKET,
			 KIND_CLIENT,
			 0x101,
			 "HGET",
			 "Instrumentation.Redis",
			 215,
			 0.5,
			 "db.system=redis|db.redis.flags=None|db.statement=HGET %s" REDIS,
			 {{"Enqueued", ""}, {"Sent", ""}, {"ResponseReceived", ""}}},
	[API_PRODUCTS] = {SITE, KIND_SERVER, 0, "GET /api/products", PAGE_SCOPE, 4700, 0.4, HANDLE},
	[RUN_PRODUCTS] = {SITE, KIND_INTERNAL, 0, "run route /api/products", PAGE_SCOPE, 3900, 0.4,
			  ROUTE("/api/products")},
	[CALL_LIST] = {SITE, KIND_CLIENT, 0, "grpc.shop.Products/List", GRPC_SCOPE, 3600, 0.4,
		       CALL("Products", "List", "product-list", "3550")},
	[LIST] = {CATALOG, KIND_SERVER, 0x300, "shop.Products/List", GO_SCOPE, 80, 0.3,
		  "rpc.service=shop.Products|rpc.method=List|rpc.system=grpc|app.products.count=#10"
		  "|net.sock.peer.addr=10.19.0.20|net.sock.peer.port=#%e|rpc.grpc.status_code=#0"},
	[API_RATES] = {SITE, KIND_SERVER, 0, "GET /api/rates", PAGE_SCOPE, 5500, 0.5, HANDLE},
	[RUN_RATES] = {SITE, KIND_INTERNAL, 0, "run route /api/rates", PAGE_SCOPE, 4600, 0.5,
		       ROUTE("/api/rates")},
	[CALL_RATES] = {SITE, KIND_CLIENT, 0, "grpc.shop.Rates/List", GRPC_SCOPE, 4500, 0.5,
			CALL("Rates", "List", "rates", "7001")},
	[RATES_LIST] = {RATES,
			KIND_SERVER,
			1,
			"Rates/List",
			"rates",
			510,
			0.2,
			"rpc.system=grpc|rpc.service=shop.Rates|rpc.method=List"
			"|rpc.grpc.status_code=#0",
			{{"Processing list request", ""}, {"Rates fetched, response sent", ""}}},
	[API_HINTS] = {SITE, KIND_SERVER, 0, "GET /api/suggestions", PAGE_SCOPE, 10200, 0.5,
		       HANDLE},
	[RUN_HINTS] = {SITE, KIND_INTERNAL, 0, "run route /api/suggestions", PAGE_SCOPE, 10000, 0.5,
		       ROUTE("/api/suggestions")},
	[CALL_HINTS] = {SITE, KIND_CLIENT, 0, "grpc.shop.Suggestions/List", GRPC_SCOPE, 4300, 0.5,
			CALL("Suggestions", "List", "suggestions", "9001")},
	[HINTS_LIST] =
		{HINTS, KIND_SERVER, 0x300, "/shop.Suggestions/List",
		 "telemetry.instrumentation.grpc", 1300, 0.4,
		 "rpc.system=grpc|rpc.grpc.status_code=#0|rpc.method=List"
		 "|rpc.service=shop.Suggestions|rpc.user_agent=grpc-node-js/1.12.6"
		 "|net.peer.ip=10.19.0.24|net.peer.port=37272|app.products_suggested.count=#5"},
	[HINTS_PRODUCTS] = {HINTS,
			    KIND_INTERNAL,
			    0x100,
			    "get_products",
			    "suggestions",
			    1100,
			    0.4,
			    "app.suggestions.cache_enabled=?0|app.products.count=#10"
			    "|app.filtered_products.count=#10|app.filtered_products.list=%i",
			    {{"feature_flag", "feature_flag.key=suggestionCacheFailure"
					      "|feature_flag.variant=off"
					      "|feature_flag.provider_name=FlagProvider"}}},
	[HINTS_CALL] = {HINTS, KIND_CLIENT, 0x100, "/shop.Products/List",
			"telemetry.instrumentation.grpc", 850, 0.3,
			"rpc.system=grpc|rpc.grpc.status_code=#0|rpc.method=List"
			"|rpc.service=shop.Products"},
	[CALL_PRODUCT] = {SITE, KIND_CLIENT, 0, "grpc.shop.Products/Get", GRPC_SCOPE, 2600, 0.6,
			  CALL("Products", "Get", "product-list", "3550")},
	[PRODUCT] = {CATALOG,
		     KIND_SERVER,
		     0x300,
		     "shop.Products/Get",
		     GO_SCOPE,
		     58,
		     0.6,
		     "rpc.service=shop.Products|rpc.method=Get|rpc.system=grpc|app.product.id=%i"
		     "|app.product.name=%n|net.sock.peer.addr=10.19.0.24|net.sock.peer.port=#%e"
		     "|rpc.grpc.status_code=#0",
		     {{"Product found, id %i, name %n", ""}}},
	[CALL_CONVERT] = {SITE, KIND_CLIENT, 0, "grpc.shop.Rates/Convert", GRPC_SCOPE, 4400, 0.3,
			  CALL("Rates", "Convert", "rates", "7001")},
	[CONVERT] = {RATES,
		     KIND_SERVER,
		     1,
		     "Rates/Convert",
		     "rates",
		     1500,
		     0.5,
		     "rpc.system=grpc|rpc.service=shop.Rates|rpc.method=Convert"
		     "|rpc.grpc.status_code=#0|app.rates.from=USD|app.rates.to=%u",
		     {{"Processing conversion", ""}, {"Conversion done, response sent", ""}}},
	[PAGE_HOME] = {SITE, KIND_SERVER, 0, "GET /", PAGE_SCOPE, 6100, 0.5, HANDLE},
	[PAGE_RESOLVE] = {SITE, KIND_INTERNAL, 0, "resolve page parts", PAGE_SCOPE, 300, 0.9,
			  "page.span_name=resolve page parts|page.span_type=Server.findPageParts"
			  "|page.route=%p"},
	[PAGE_RENDER] = {SITE, KIND_INTERNAL, 0, "render route /", PAGE_SCOPE, 3300, 0.4,
			 "page.span_name=render route /|page.span_type=Render.renderDocument"
			 "|page.route=%p"},
	[FLAGS_ALL] = {FLAGS,
		       KIND_SERVER,
		       0x300,
		       "flags.v1.Service/ResolveAll",
		       "flagconnect",
		       102,
		       0.4,
		       "net.peer.name=10.19.0.26|net.peer.port=#%e|rpc.system=connect_rpc"
		       "|rpc.service=flags.v1.Service|rpc.method=ResolveAll",
		       {{"message", "message.type=RECEIVED|message.id=#1"
				    "|message.uncompressed_size=#%b"},
			{"message", "message.type=SENT|message.id=#1"
				    "|message.uncompressed_size=#%b"}}},
	[FLAGS_ALL_SERVER] = {FLAGS, KIND_SERVER, 0x100, "resolveAll", "flagService", 73, 0.4,
			      "feature_flag.count=#11"},
	[FLAGS_ALL_INNER] = {FLAGS, KIND_INTERNAL, 0x100, "resolveAll", "jsonEvaluator", 17, 0.4,
			     ""},
	[FLAGS_STREAM] = {FLAGS,
			  KIND_SERVER,
			  0x300,
			  "flags.v1.Service/EventStream",
			  "flagconnect",
			  2800000,
			  1.3,
			  "net.peer.name=10.19.0.26|net.peer.port=#%e|rpc.system=connect_rpc"
			  "|rpc.service=flags.v1.Service|rpc.method=EventStream",
			  {{"message", "message.type=RECEIVED|message.id=#1"
				       "|message.uncompressed_size=#%b"},
			   {"message", "message.type=SENT|message.id=#1"
				       "|message.uncompressed_size=#%b"},
			   {"message", "message.type=SENT|message.id=#2"
				       "|message.uncompressed_size=#%b"},
			   {"message", "message.type=SENT|message.id=#3"
				       "|message.uncompressed_size=#%b"}}},
	[FLAGS_INT] = {FLAGS,
		       KIND_SERVER,
		       0x300,
		       "flags.v1.Service/ResolveInt",
		       "flagconnect",
		       60,
		       0.3,
		       "net.peer.name=10.19.0.20|net.peer.port=#%e|rpc.system=grpc"
		       "|rpc.service=flags.v1.Service|rpc.method=ResolveInt"
		       "|rpc.grpc.status_code=#0",
		       {{"message", "message.type=RECEIVED|message.id=#1"
				    "|message.uncompressed_size=#%b"},
			{"message", "message.type=SENT|message.id=#1"
				    "|message.uncompressed_size=#%b"}}},
	[FLAGS_INT_SERVER] = {FLAGS, KIND_SERVER, 0x100, "resolveInt", "flagService", 42, 0.3,
			      "feature_flag.key=adFailure|feature_flag.variant=off"
			      "|feature_flag.reason=static"},
	[FLAGS_INT_INNER] = {FLAGS, KIND_INTERNAL, 0x100, "resolveInt", "jsonEvaluator", 7, 0.4,
			     ""},
	[BROWSER_GET] = {BROWSER,
			 KIND_CLIENT,
			 0,
			 "HTTP GET",
			 "@telemetry/instrumentation-fetch",
			 8500,
			 0.6,
			 "component=fetch|http.method=GET|http.url=http://127.0.0.1:8080%p"
			 "|session.id=%s|app.synthetic_request=false|http.status_code=#%t"
			 "|http.status_text=OK|http.host=127.0.0.1:8080|http.scheme=http"
			 "|http.user_agent=%a|http.response_content_length=#%z",
			 {{"fetchStart", ""},
			  {"domainLookupStart", ""},
			  {"domainLookupEnd", ""},
			  {"connectStart", ""},
			  {"connectEnd", ""},
			  {"requestStart", ""},
			  {"responseStart", ""},
			  {"responseEnd", ""}}},
	[BROWSER_CLICK] = {BROWSER, KIND_INTERNAL, 0, "click",
			   "@telemetry/instrumentation-user-interaction", 95, 1.0,
			   "event_type=click|target_element=DIV"
			   "|target_xpath=//html/body/div/main/div/div/div[%d]"
			   "|http.url=http://127.0.0.1:8080/|session.id=%s"},
	[VISIT] = {VISITORS, KIND_CLIENT, 0, "GET", "telemetry.instrumentation.requests", 8600, 0.9,
		   "http.method=GET|http.url=http://edge-proxy:8080%p|http.status_code=#200"},
	[API_ORDER] = {SITE, KIND_SERVER, 0, "POST /api/order", PAGE_SCOPE, 14000000, 0.4, HANDLE},
	[CALL_ORDER] = {SITE, KIND_CLIENT, 0, "grpc.shop.Orders/Place", GRPC_SCOPE, 13500000, 0.4,
			CALL("Orders", "Place", "orders", "5050")},
	[ORDER] = {ORDERS,
		   KIND_SERVER,
		   0x300,
		   "shop.Orders/Place",
		   GO_SCOPE,
		   13000000,
		   0.4,
		   "rpc.service=shop.Orders|rpc.method=Place|rpc.system=grpc|app.user.id=%s"
		   "|app.user.currency=%u|app.order.id=%o|app.shipping.tracking.id=%o"
		   "|app.order.items.count=#1|net.sock.peer.addr=10.19.0.24"
		   "|net.sock.peer.port=#%e|rpc.grpc.status_code=#0",
		   {{"prepared", ""},
		    {"charged", "app.payment.transaction.id=%o"},
		    {"shipped", "app.shipping.tracking.id=%o"}}},
	[ORDER_PREPARE] = {ORDERS, KIND_INTERNAL, 0x100, "prepare order", "orders", 12000000, 0.4,
			   "app.order.items.count=#1|app.shipping.amount=#8"
			   "|app.basket.items.count=#1"},
	[ORDER_CHARGE] = {ORDERS, KIND_CLIENT, 0x100, "shop.Till/Charge", GO_SCOPE, 20000, 0.4,
			  CALL("Till", "Charge", "till", "50051")},
	[TILL_CHARGE] = {TILL, KIND_SERVER, 0x300, "grpc.shop.Till/Charge", GRPC_SCOPE, 9000, 0.9,
			 "rpc.system=grpc|rpc.method=Charge|rpc.service=shop.Till"
			 "|app.payment.amount=#%z|rpc.grpc.status_code=#0"},
	[ORDER_SHIP] = {ORDERS, KIND_CLIENT, 0x100, "shop.Parcels/Ship", GO_SCOPE, 300, 0.3,
			CALL("Parcels", "Ship", "parcels", "48147")},
	[PARCEL_SHIP] = {PARCELS,
			 KIND_SERVER,
			 0x100,
			 "shop.Parcels/Ship",
			 "parcels",
			 16,
			 0.3,
			 "rpc.system=grpc|rpc.service=shop.Parcels|rpc.method=Ship"
			 "|app.shipping.tracking.id=%o|rpc.grpc.status_code=#0",
			 {{"Processing shipping order", ""}, {"Tracking id created", ""}}},
	[PARCEL_QUOTE] = {PARCELS,
			  KIND_SERVER,
			  0x100,
			  "shop.Parcels/Quote",
			  "parcels",
			  1900,
			  0.6,
			  "rpc.system=grpc|rpc.service=shop.Parcels|rpc.method=Quote"
			  "|app.shipping.items.count=#1|rpc.grpc.status_code=#0",
			  {{"Processing quote request", ""},
			   {"Received quote", "app.shipping.cost.total=8.99"}}},
	[QUOTE] = {QUOTES,
		   KIND_SERVER,
		   0x300,
		   "POST /getquote",
		   "io.telemetry.slim",
		   240,
		   0.9,
		   "http.request.method=POST|url.full=http://quotes:8090/getquote"
		   "|http.route=/getquote|http.response.status_code=#200|server.port=#8090",
		   {{"Calculating quote", ""}, {"Quote calculated", ""}}},
	[ORDER_MAIL] = {ORDERS, KIND_CLIENT, 0x100, "HTTP POST", "otelhttp", 88000, 0.3,
			"http.method=POST|http.url=http://letters:6060/send_order_confirmation"
			"|net.peer.name=letters|net.peer.port=#6060"
			"|http.request_content_length=#%z|http.status_code=#200"},
	[MAIL] = {LETTERS, KIND_SERVER, 0x300, "POST /send_order_confirmation", "sinatra", 86000,
		  0.3,
		  "http.method=POST|http.host=letters:6060|http.scheme=http"
		  "|http.target=/send_order_confirmation|http.user_agent=Go-http-client/1.1"
		  "|app.order.id=%o|http.route=/send_order_confirmation|http.status_code=#200"},
	[ORDER_PUBLISH] = {ORDERS, KIND_PRODUCER, 0x100, "orders publish", "orders", 4000, 0.3,
			   "peer.service=kafka|net.transport=ip_tcp|messaging.system=kafka"
			   "|messaging.destination.name=orders|messaging.operation=publish"
			   "|messaging.kafka.destination.partition=#0"
			   "|messaging.kafka.message.offset=#%z"},
	[LEDGER_RECEIVE] = {LEDGER, KIND_CONSUMER, 0x300, "orders receive", "ledger", 149000, 0.3,
			    "messaging.system=kafka|messaging.destination.name=orders"
			    "|messaging.operation=receive|messaging.kafka.message.offset=#%z"},
	[ADVERT_GET] = {ADVERTS,
			KIND_SERVER,
			0x300,
			"shop.Adverts/Get",
			"io.telemetry.grpc-1.6",
			3900,
			0.9,
			"rpc.system=grpc|rpc.service=shop.Adverts|rpc.method=Get|session.id=%s"
			"|app.ads.contextKeys=[telescopes]|app.ads.count=#1|server.port=#9555"
			"|network.peer.address=10.19.0.24|network.peer.port=#%e|thread.id=#%d"
			"|rpc.grpc.status_code=#0",
			{{"message", "message.type=RECEIVED|message.id=#1"},
			 {"message", "message.type=SENT|message.id=#1"}}},
	[BASKET_EMPTY] = {BASKET,
			  KIND_SERVER,
			  0x301,
			  "POST /shop.Basket/Empty",
			  "Server.AspNetCore",
			  26000,
			  0.4,
			  "server.address=basket|server.port=#7070|http.request.method=POST"
			  "|url.scheme=http|url.path=/shop.Basket/Empty|network.protocol.version=2"
			  "|user_agent.original=grpc-go/1.70.0|grpc.method=/shop.Basket/Empty"
			  "|app.user.id=%s|grpc.status_code=0|http.response.status_code=#200",
			  {{"Empty basket", ""}}},
	[BASKET_HMSET] = {BASKET,
			  KIND_CLIENT,
			  0x101,
			  "HMSET",
			  "Instrumentation.Redis",
			  230,
			  0.7,
			  "db.system=redis|db.redis.flags=DemandMaster"
			  "|db.statement=HMSET %s" REDIS,
			  {{"Enqueued", ""}, {"Sent", ""}, {"ResponseReceived", ""}}},
};
const size_t demo_operation_n = ARRAY_SIZE(demo_operations);

/* --- requests --- */

#define SITE_ROOT                                                                                  \
	{INGRESS, -1, 0}, {EGRESS_SITE, 0, 130},                                                   \
	{                                                                                          \
		SITE_HTTP, 1, 900                                                                  \
	}
#define API(handle, run)                                                                           \
	{handle, 2, 35},                                                                           \
	{                                                                                          \
		run, 3, 700                                                                        \
	}

static const struct demo_node file_nodes[] = {SITE_ROOT};
static const struct demo_node image_nodes[] = {
	{INGRESS, -1, 0}, {EGRESS_IMAGES, 0, 120}, {IMAGE, 1, -350}};
static const struct demo_node browser_image_nodes[] = {
	{BROWSER_GET, -1, 0}, {INGRESS, 0, 1500}, {EGRESS_IMAGES, 1, 110}, {IMAGE, 2, -350}};
static const struct demo_node basket_nodes[] = {SITE_ROOT,
						API(API_BASKET, RUN_BASKET),
						{CALL_BASKET, 4, 40},
						{BASKET_GET, 5, 1300},
						{BASKET_HGET, 6, 600}};
static const struct demo_node products_nodes[] = {
	SITE_ROOT, API(API_PRODUCTS, RUN_PRODUCTS), {CALL_LIST, 4, 500}, {LIST, 5, 1300}};
static const struct demo_node rates_nodes[] = {
	SITE_ROOT, API(API_RATES, RUN_RATES), {CALL_RATES, 4, 40}, {RATES_LIST, 5, 1200}};
#define HINTS_TREE                                                                                 \
	SITE_ROOT, API(API_HINTS, RUN_HINTS), {CALL_HINTS, 4, 40}, {HINTS_LIST, 5, 1800},          \
		{HINTS_PRODUCTS, 6, 60}, {HINTS_CALL, 7, 150}, {LIST, 8, 350},                     \
		{CALL_PRODUCT, 4, 5000}, {PRODUCT, 10, 2000}, {CALL_PRODUCT, 4, 5020},             \
		{PRODUCT, 12, 2000}, {CALL_PRODUCT, 4, 5040}, {PRODUCT, 14, 2000},                 \
		{CALL_PRODUCT, 4, 5060},                                                           \
	{                                                                                          \
		PRODUCT, 16, 2000                                                                  \
	}
static const struct demo_node hints_nodes[] = {HINTS_TREE};
static const struct demo_node hints_rates_nodes[] = {
	HINTS_TREE,          {CALL_CONVERT, 4, 8000}, {CONVERT, 18, 1500}, {CALL_CONVERT, 4, 8020},
	{CONVERT, 20, 1500}, {CALL_CONVERT, 4, 8040}, {CONVERT, 22, 1500}, {CALL_CONVERT, 4, 8060},
	{CONVERT, 24, 1500}};
static const struct demo_node page_nodes[] = {
	SITE_ROOT, {PAGE_HOME, 2, 30}, {PAGE_RESOLVE, 3, 900}, {PAGE_RENDER, 3, 2300}};
static const struct demo_node flags_nodes[] = {{INGRESS, -1, 0},
					       {EGRESS_FLAGS, 0, 110},
					       {FLAGS_ALL, 1, 550},
					       {FLAGS_ALL_SERVER, 2, 12},
					       {FLAGS_ALL_INNER, 3, 15}};
static const struct demo_node stream_nodes[] = {
	{INGRESS, -1, 0}, {EGRESS_FLAGS, 0, 120}, {FLAGS_STREAM, 1, 500}};
static const struct demo_node stream_alone_nodes[] = {{FLAGS_STREAM, -1, 0}};
static const struct demo_node telemetry_nodes[] = {{INGRESS, -1, 0}, {EGRESS_TELEMETRY, 0, 110}};
static const struct demo_node click_nodes[] = {{BROWSER_CLICK, -1, 0}};
static const struct demo_node int_nodes[] = {
	{FLAGS_INT, -1, 0}, {FLAGS_INT_SERVER, 0, 12}, {FLAGS_INT_INNER, 1, 15}};
static const struct demo_node product_nodes[] = {
	{VISIT, -1, 0},        {INGRESS, 0, 900},      {EGRESS_SITE, 1, 130},  {SITE_HTTP, 2, 900},
	{API_PRODUCTS, 3, 35}, {RUN_PRODUCTS, 4, 700}, {CALL_PRODUCT, 5, 300}, {PRODUCT, 6, 1200}};
static const struct demo_node advert_nodes[] = {
	SITE_ROOT, API(API_PRODUCTS, RUN_PRODUCTS), {CALL_LIST, 4, 500}, {ADVERT_GET, 5, 1500}};
static const struct demo_node order_nodes[] = {SITE_ROOT,
					       {API_ORDER, 2, 40},
					       {CALL_ORDER, 3, 700},
					       {ORDER, 4, 1200},
					       {ORDER_PREPARE, 5, 200},
					       {CALL_BASKET, 6, 100},
					       {BASKET_GET, 7, 700},
					       {BASKET_HGET, 8, 400},
					       {CALL_PRODUCT, 6, 4000},
					       {PRODUCT, 10, 700},
					       {CALL_CONVERT, 6, 6000},
					       {CONVERT, 12, 700},
					       {PARCEL_QUOTE, 6, 9000},
					       {QUOTE, 14, 500},
					       {CALL_CONVERT, 6, 12000},
					       {CONVERT, 16, 700},
					       {ORDER_CHARGE, 5, 12000000},
					       {TILL_CHARGE, 18, 900},
					       {ORDER_SHIP, 5, 12030000},
					       {PARCEL_SHIP, 20, 150},
					       {CALL_BASKET, 5, 12031000},
					       {BASKET_EMPTY, 22, 500},
					       {BASKET_HMSET, 23, 900},
					       {BASKET_HMSET, 23, 1900},
					       {ORDER_MAIL, 5, 12060000},
					       {MAIL, 26, 900},
					       {ORDER_PUBLISH, 5, 12150000},
					       {LEDGER_RECEIVE, 28, 5000}};

#define NODES(array) ARRAY_SIZE(array), array

#define CHUNKS       "/_page/static/chunks/"

static const char file_paths[] = CHUNKS
	"main-7c1a20951e80db8b.js " CHUNKS "webpack-54cd.js " CHUNKS "framework-91aa.js " CHUNKS
	"pages/_app-2218.js " CHUNKS "pages/index-3e5b.js /_page/static/css/4a8f.css " CHUNKS
	"675-3c1f.js " CHUNKS "206-08b1.js /icons/Up.svg /icons/Basket.svg "
	"/icons/Check.svg /icons/Down.svg /_page/static/b2/_buildManifest.js "
	"/_page/static/b2/_ssgManifest.js /favicon.ico " CHUNKS "pages/basket-77ab.js "
	"/_page/static/css/9b21.css /images/logo.svg /_page/data/b2/basket.json "
	"/fonts/a.woff2 /fonts/b.woff2 " CHUNKS "pages/product-6f.js /images/banner.png "
	"/images/gift.svg /_page/data/b2/index.json /icons/Star.svg";

const struct demo_request demo_requests[] = {
	{376, "site", "GET", file_paths, NODES(file_nodes)},
	{286, "images", "GET",
	 "/images/products/Comet.jpg /images/products/Flashlight.jpg"
	 " /images/products/Binoculars.jpg /images/products/Refractor.jpg"
	 " /images/products/Filter.jpg /images/products/Travel.jpg"
	 " /images/products/Cleaning.jpg /images/products/Imager.jpg"
	 " /images/products/Tube.jpg /images/shop-logo.png",
	 NODES(image_nodes)},
	{28, "images", "GET",
	 "/images/products/Comet.jpg /images/products/Flashlight.jpg /images/products/Tube.jpg"
	 " /images/products/Filter.jpg /images/products/Atlas.jpg",
	 NODES(browser_image_nodes)},
	{74, "site", "GET",
	 "/api/basket?sessionId=%s&currencyCode=USD /api/basket?sessionId=%s&currencyCode="
	 " /api/basket?sessionId=%s&currencyCode=CHF /api/basket?sessionId=%s&currencyCode=EUR",
	 NODES(basket_nodes)},
	{33, "site", "GET",
	 "/api/products?currencyCode=USD /api/products?currencyCode=", NODES(products_nodes)},
	{29, "site", "GET", "/api/rates?", NODES(rates_nodes)},
	{30, "site", "GET",
	 "/api/suggestions?productIds=&sessionId=%s&currencyCode=USD"
	 " /api/suggestions?productIds=&sessionId=%s&currencyCode="
	 " /api/suggestions?productIds=P4QX&sessionId=%s&currencyCode=USD",
	 NODES(hints_nodes)},
	{13, "site", "GET",
	 "/api/suggestions?productIds=&sessionId=%s&currencyCode=CHF"
	 " /api/suggestions?productIds=&sessionId=%s&currencyCode=EUR",
	 NODES(hints_rates_nodes)},
	{31, "site", "GET", "/ /basket", NODES(page_nodes)},
	{28, "flags", "POST", "/flagservice/flags.v1.Service/ResolveAll", NODES(flags_nodes)},
	{25, "flags", "POST", "/flagservice/flags.v1.Service/EventStream", NODES(stream_nodes)},
	{9, "flags", "POST", "/flagservice/flags.v1.Service/EventStream",
	 NODES(stream_alone_nodes)},
	{9, "telemetry", "POST", "/otlp-http/v1/traces", NODES(telemetry_nodes)},
	{12, "site", "GET", "/", NODES(click_nodes)},
	{6, "flags", "POST", "/", NODES(int_nodes)},
	{5, "site", "GET", "/api/products/P4QX /api/products/K71M /api/products/Z0TT",
	 NODES(product_nodes)},
	{4, "site", "GET", "/api/adverts?contextKeys=books", NODES(advert_nodes)},
	{3, "site", "POST", "/api/order?currencyCode=USD", NODES(order_nodes)},
};
const size_t demo_request_n = ARRAY_SIZE(demo_requests);
