// A client in JavaScript: create an order, change it, and read it again. Prints its ID.
//
//     node client.mjs http://127.0.0.1:8000

const [server] = process.argv.slice(2);

async function call(method, path, body) {
  const reply = await fetch(server + path, {
    method,
    headers: { "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
  return JSON.parse(await reply.text());
}

const made = await call("POST", "/orders", { customer: "Ada", articles: ["tea"] });
made.articles.push("cup");
await call("PUT", `/orders/${made.id}`, made);
const again = await call("GET", `/orders/${made.id}`);
if (JSON.stringify(again) !== JSON.stringify(made)) throw new Error("the order has changed");
console.log(again.id);
