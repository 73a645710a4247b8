// Keeps a browser's WebSocket and fetch out of a process that serves HTTP; to be loaded before all else. It must not take
// anything away that the process uses.
//
// Node.js gives `node:http` three members that it makes when they are first read. An import of the module reads all of
// its members, and with these comes all of fetch: 50 ms and 14 MB a process. The globals of the same names stay.
const http = require('node:http')

for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent']) delete http[name]
