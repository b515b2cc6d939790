// A model server by HTTP/2, for test_endpoint_tls.sh: only clients with a certificate of the authority get in.
//
//     node h2_server.cjs CERTIFICATE KEY AUTHORITY
//
// Prints its port. It answers each POST 50 ms later with a chat completion that names the client's certificate, and logs
// on stderr: "post CONNECTION AT-A-TIME" for each, the second being how many that connection then has.
"use strict";
const fs = require("fs");
const http2 = require("http2");
const [cert, key, ca] = process.argv.slice(2).map((path) => fs.readFileSync(path));
const server = http2.createSecureServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true });
let connections = 0;
server.on("session", (session) => {
    session.number = ++connections;
    session.running = 0;
});
server.on("sessionError", () => {});
server.on("stream", (stream, headers) => {
    const session = stream.session;
    stream.on("error", () => {});
    stream.resume();
    if (headers[":method"] !== "POST") {
        stream.respond({ ":status": 404 });
        stream.end();
        return;
    }
    console.error(`post ${session.number} ${++session.running}`);
    setTimeout(() => {
        session.running--;
        const content = session.socket.getPeerCertificate().subject.CN;
        stream.respond({ ":status": 200, "content-type": "application/json" });
        stream.end(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] }));
    }, 50);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
