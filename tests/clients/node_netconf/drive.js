// node-netconf: base:1.0 only, with replies found by a regular expression and turned into objects.
'use strict';

const readline = require('readline');
const path = require('path');
// The script is not in the folder that the library is installed in.
const { Client } = require(path.join(process.env.NODE_PATH, 'node-netconf'));

const HA = 'urn:accel-agent:hardware-acceleration';
const NETCONF = 'urn:ietf:params:xml:ns:netconf:base:1.0';
const CANDIDATE = { candidate: null };

const qat = (content) => ({ acceleration: { $: { xmlns: HA }, qat: content } });
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const listen = async () => (await lines.next()).value;

async function say(step, found = {}, how = 'api') {
    process.stdout.write(JSON.stringify({ step, how, ...found }) + '\n');
    if ((await listen()) === undefined) process.exit(1);
}

function call(operation, ...args) {
    return new Promise((resolve, reject) => operation(...args, (error, reply) => (error ? reject(error) : resolve(reply))));
}

async function main() {
    const gateway = JSON.parse(await listen());
    const client = new Client({
        host: gateway.host,
        port: gateway.port,
        username: gateway.user,
        password: gateway.password,
    });
    const rpc = (operation) => call(client.rpc, { $: { xmlns: NETCONF }, ...operation });
    const filter = (content) => ({ filter: { $: { type: 'subtree' }, ...qat(content) } });
    const state = async () => JSON.stringify(await rpc({ get: filter({ device: { 'oper-status': null } }) }));
    const edit = (content) => rpc({ 'edit-config': { target: CANDIDATE, config: qat(content) } });

    await call(client.open);
    await say('hello', { session_id: client.sessionID, capabilities: client.remoteCapabilities });
    await say('get', { text: await state() }, 'rpc');
    const interval = { source: { running: null }, ...filter({ health: { interval: null } }) };
    await say('get-config', { text: JSON.stringify(await rpc({ 'get-config': interval })) }, 'rpc');
    await rpc({ lock: { target: CANDIDATE } });
    await say('lock', {}, 'rpc');
    await edit({ enabled: true });
    await say('edit-config', {}, 'rpc');
    const error = await edit({ health: { interval: 'soon' } }).catch((raised) => raised);
    const found = JSON.parse(error.message).rpc_reply.rpc_error;
    const shown = { tag: found.error_tag, path: found.error_path, message: found.error_message._ };
    await say('error', { seen: error.name, ...shown }, 'rpc');
    await rpc({ validate: { source: CANDIDATE } });
    await say('validate', {}, 'rpc');
    await call(client.rpc, 'commit');
    await say('commit', {}, 'rpc');
    await rpc({ unlock: { target: CANDIDATE } });
    await say('unlock', {}, 'rpc');
    await say('up', { text: await state() }, 'rpc');
    await edit({ enabled: false });
    await call(client.rpc, 'commit');
    await say('off', {}, 'rpc');
    await say('down', { text: await state() }, 'rpc');
    await call(client.close);
    await say('close');
    process.exit(0);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
