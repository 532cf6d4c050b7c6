"""The clients (and a few servers) whose packets tests/tools/make-captures records."""
import socket
import struct
import sys
import time


def exchange(port, *parts, wait=0.1):
    """Sends raw bytes, waiting for some answer after each part."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(2)
        for part in parts:
            s.sendall(part)
            time.sleep(wait)
            try:
                s.recv(1 << 20)
            except socket.timeout:
                pass


def redis():
    import redis as library

    r = library.Redis(port=6379)
    r.set("greeting", "hello")
    r.get("greeting")
    r.get("nothing")
    r.rpush("list", *range(20))
    r.lrange("list", 0, -1)
    with r.pipeline(transaction=True) as p:
        p.incr("n").incr("n").get("n")
        p.execute()
    with r.pipeline(transaction=False) as p:
        for i in range(5):
            p.set(f"key{i}", "v" * 100)
        p.execute()
    try:
        r.execute_command("NONSENSE")
    except library.ResponseError:
        pass
    s = r.pubsub()
    s.subscribe("news")
    s.get_message(timeout=1)
    r.publish("news", "one")
    r.publish("news", "two")
    s.get_message(timeout=1)
    s.get_message(timeout=1)
    s.close()
    r.close()
    exchange(6379, b"PING\r\n", b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", b"*2\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n"[:0] + b"HGETALL nothing\r\n")


def postgresql():
    import psycopg2

    c = psycopg2.connect(host="127.0.0.1", user="postgres", dbname="postgres", sslmode="prefer")
    cur = c.cursor()
    cur.execute("CREATE TABLE t (id int primary key, name text)")
    for i in range(3):
        cur.execute("/* request */ INSERT INTO t VALUES (%s, %s)", (i, "name"))
    c.commit()
    cur.execute("SELECT * FROM t, generate_series(1, 50)")
    cur.fetchall()
    try:
        cur.execute("SELECT nothing FROM nowhere")
    except psycopg2.Error:
        c.rollback()
    import io
    cur.copy_expert("COPY t FROM STDIN", io.StringIO("7\tseven\n8\teight\n"))
    cur.copy_expert("COPY t TO STDOUT", io.StringIO())
    c.commit()
    c.close()

    def message(kind, body):
        return kind + struct.pack("!I", len(body) + 4) + body

    startup = struct.pack("!I", 196608) + b"user\0postgres\0database\0postgres\0\0"
    prepared = (message(b"P", b"st\0SELECT $1::int\0" + struct.pack("!H", 0)) + message(b"D", b"Sst\0") + message(b"S", b""))
    run = (message(b"B", b"\0st\0" + struct.pack("!HHI", 0, 1, 1) + b"5" + struct.pack("!H", 0)) +
           message(b"E", b"\0" + struct.pack("!I", 0)) + message(b"S", b""))
    exchange(5432, struct.pack("!I", len(startup) + 4) + startup, prepared, run, run + run + run, message(b"X", b""))


def http1():
    exchange(8080, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"HEAD /big HTTP/1.1\r\nHost: a\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: a\r\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n\r\n",
             b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /nothing/12345 HTTP/1.1\r\nHost: a\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /big HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    exchange(8080, b"GET /big HTTP/1.0\r\n\r\n")
    exchange(8080, b"POST /post HTTP/1.1\r\nHost: a\r\nX-Request-Id: abc-1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
             b"12345", b"POST /post HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n")


def chunked_server(port):
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_POST(self):
            if "Content-Length" in self.headers:
                self.rfile.read(int(self.headers["Content-Length"]))
            else:
                while True:
                    size = int(self.rfile.readline().split(b";")[0], 16)
                    self.rfile.read(size + 2)
                    if size == 0:
                        break
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in (b"first", b"second" * 10):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
                time.sleep(0.02)
            self.wfile.write(b"0\r\nX-Trailer: yes\r\n\r\n")

    http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


def grpc():
    import grpc as library

    with library.insecure_channel("127.0.0.1:50051") as channel:
        same = {"request_serializer": bytes, "response_deserializer": bytes}
        one = channel.unary_unary("/shop.Cart/Add", **same)
        many = channel.unary_stream("/shop.Cart/List", **same)
        one(b"a", metadata=(("x-request-id", "abc-1"),))
        list(many(b"b"))
        futures = [one.future(b"c" * 100) for _ in range(4)]
        for f in futures:
            f.result()
        try:
            channel.unary_unary("/shop.Cart/Nothing", **same)(b"x")
        except library.RpcError:
            pass


def grpc_server(port):
    import concurrent.futures
    import grpc as library

    def one(request, context):
        time.sleep(0.01)
        return request

    def many(request, context):
        for _ in range(3):
            time.sleep(0.01)
            yield request

    handlers = {"Add": library.unary_unary_rpc_method_handler(one), "List": library.unary_stream_rpc_method_handler(many)}
    server = library.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((library.method_handlers_generic_handler("shop.Cart", handlers),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def mysql(path):
    import pymysql

    local = pymysql.connect(unix_socket=path, user="root")
    with local.cursor() as c:
        c.execute("CREATE USER 'x'@'127.0.0.1' IDENTIFIED BY 'y'")
        c.execute("GRANT ALL ON *.* TO 'x'@'127.0.0.1'")
    local.close()
    c = pymysql.connect(host="127.0.0.1", user="x", password="y", client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    cur = c.cursor()
    cur.execute("CREATE DATABASE d")
    c.select_db("d")
    cur.execute("CREATE TABLE t (id int primary key, name text)")
    for i in range(3):
        cur.execute("INSERT INTO t VALUES (%s, %s)", (i, "name"))
    c.commit()
    cur.execute("SELECT * FROM t")
    cur.execute("SELECT * FROM t WHERE id = 99")
    try:
        cur.execute("SELECT nothing FROM nowhere")
    except pymysql.Error:
        pass
    cur.execute("SELECT 1; SELECT 2, 3; INSERT INTO t VALUES (9, 'x')")
    while cur.nextset():
        pass
    c.ping()
    c.close()


def memcached():
    exchange(11211, b"set k 0 0 5\r\nhello\r\n", b"get k\r\n", b"get k nothing\r\n", b"gets k\r\n", b"set q 0 0 1 noreply\r\nx\r\nget q\r\n",
             b"incr k 1\r\n", b"set n 0 0 1\r\n1\r\n", b"incr n 4\r\n", b"delete n\r\n", b"delete n\r\n", b"stats\r\n", b"nonsense\r\n"[:0] + b"version\r\n",
             b"get k\r\nget q\r\nget none\r\n", b"mg k v\r\n", b"mg none v\r\n", b"ms m 5 T0\r\nworld\r\n", b"mg m v q\r\nmg none v q\r\nmn\r\n", b"md m\r\n",
             b"quit\r\n")


def memcached_binary():
    def request(op, key=b"", value=b"", extras=b"", opaque=0):
        body = extras + key + value
        return struct.pack("!BBHBBHIIQ", 0x80, op, len(key), len(extras), 0, 0, len(body), opaque, 0) + body

    flags = struct.pack("!II", 0, 0)
    exchange(11211, request(1, b"k", b"hello", flags, 1), request(0, b"k", opaque=2), request(0, b"none", opaque=3),
             request(9, b"k", opaque=4) + request(9, b"none", opaque=5) + request(10, opaque=6), request(0x10, opaque=7), request(0x0b, opaque=8))


def thrift_client():
    from calc import Calculator
    from thrift.protocol import TBinaryProtocol, TCompactProtocol
    from thrift.transport import TSocket, TTransport

    for port, factory in ((9090, TBinaryProtocol.TBinaryProtocol), (9091, TCompactProtocol.TCompactProtocol)):
        transport = TTransport.TFramedTransport(TSocket.TSocket("127.0.0.1", port))
        client = Calculator.Client(factory(transport))
        transport.open()
        client.add(1, 2)
        client.zip()
        client.echo("hello" * 100)
        client.add(3, 4)
        transport.close()


def thrift_server(port, kind):
    from calc import Calculator
    from thrift.protocol import TBinaryProtocol, TCompactProtocol
    from thrift.server import TServer
    from thrift.transport import TSocket, TTransport

    class Handler:
        def add(self, a, b):
            return a + b

        def echo(self, s):
            return s

        def zip(self):
            pass

    factory = (TBinaryProtocol.TBinaryProtocolFactory if kind == "binary" else TCompactProtocol.TCompactProtocolFactory)()
    TServer.TThreadedServer(Calculator.Processor(Handler()), TSocket.TServerSocket("127.0.0.1", int(port)),
                            TTransport.TFramedTransportFactory(), factory).serve()


COMMANDS = {"redis": redis, "postgresql": postgresql, "http1": http1, "chunked-server": chunked_server, "grpc": grpc, "grpc-server": grpc_server,
            "mysql": mysql, "memcached": memcached, "memcached-binary": memcached_binary, "thrift": thrift_client, "thrift-server": thrift_server}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
