// `npm start`: the whole system on this machine, until Ctrl-C. It takes no part in what the system does.
import './check-node.mjs'
import { runInForeground } from './foreground.ts'
import { nodeParts } from './parts.ts'

await runInForeground((settings, stores) => nodeParts(settings, stores, process.env))
