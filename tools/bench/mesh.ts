// `npm start` for measurements: the same launcher, with other options of Node for the processes named in BENCH_NODE_OPTIONS.
import { runInForeground } from '../../deploy/local/foreground.ts'
import { nodeParts } from '../../deploy/local/process/parts.ts'

/** Options of Node by process. */
const options = JSON.parse(process.env['BENCH_NODE_OPTIONS'] ?? '{}') as Record<string, string>

await runInForeground((settings, stores) =>
  nodeParts(settings, stores, process.env).map((part) => {
    const { [part.name]: own } = options
    return own === undefined ? part : { ...part, env: { ...part.env, NODE_OPTIONS: own } }
  }),
)
