// `npm start`: the whole system on this machine, until Ctrl-C.
import './preflight/check-node.mjs'
import { runInForeground } from './foreground.ts'
import { nodeParts } from './process/parts.ts'

await runInForeground((settings, stores) => nodeParts(settings, stores, process.env))
