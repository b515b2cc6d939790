# events.py FOLDER [NAME]: stands in for Azure's scheduled events, on a port that it prints first. A file
# FOLDER/preempt-MACHINE says that this machine will be reclaimed, and has the time in it ("": not known). A process
# that asks for its machine's name gets NAME; without it JOB-INDEX, of the process at the other end.
import glob, http.server, json, os, sys
folder, name = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None


def caller(port):
    with open("/proc/net/tcp") as lines:
        sockets = [line.split()[9] for line in lines if line.split()[1] == f"0100007F:{port:04X}"]
    for fd in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(fd) in [f"socket:[{inode}]" for inode in sockets]:
                with open(f"/proc/{fd.split('/')[2]}/environ") as file:
                    words = dict(word.split("=", 1) for word in file.read().split("\0") if "=" in word)
                return words["WINDLASS_JOB"] + "-" + words["WINDLASS_INDEX"]
        except OSError:
            pass
    return "unknown"


def scheduled():
    events = []
    for path in glob.glob(folder + "/preempt-*"):
        with open(path) as file:
            events.append({"EventId": "e-1", "EventType": "Preempt", "ResourceType": "VirtualMachine", "EventStatus": "Scheduled",
                           "Resources": [path.split("/preempt-")[1]], "NotBefore": file.read().strip(), "EventSource": "Platform"})
    return json.dumps({"DocumentIncarnation": 1 + len(events), "Events": events})


class Events(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_name = "/instance/compute/name" in self.path
        body = name or caller(self.client_address[1]) if is_name else scheduled()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Events)
print(server.server_port, flush=True)
server.serve_forever()
