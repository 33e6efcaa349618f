// A JavaScript client: creates an order, reads it again by the ID in the JSON, and adds an item.
// node client.mjs http://127.0.0.1:8000

const base = process.argv[2];
const ask = async (method, path, body) => {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};

const made = await ask("POST", "/api/orders/", { note: "from node" });
await ask("POST", "/api/items/", { order: made.id, name: "ice" });
const read = await ask("GET", `/api/orders/${made.id}/`);
const page = await ask("GET", `/orders/${made.id}/`);
console.log(JSON.stringify({ made, read, page }));
