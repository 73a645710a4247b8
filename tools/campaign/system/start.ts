// What `npm start` runs, for a campaign: each process has a clock that a file moves.
import path from 'node:path'
import { runInForeground } from '../../../deploy/local/foreground.ts'
import { nodeParts } from '../../../deploy/local/process/parts.ts'

const clock = path.join(import.meta.dirname, 'moved-clock.mjs')

await runInForeground((settings, stores) =>
  nodeParts(settings, stores, process.env).map((part) => ({
    ...part,
    env: {
      ...part.env,
      NODE_OPTIONS: `--import ${clock}`,
      CLOCK_FILE: path.join(settings.dataDir, `clock-${part.name}`),
    },
  })),
)
