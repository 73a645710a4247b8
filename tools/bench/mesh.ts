// `npm start` for measurements: the same launcher, with a CPU profile of the processes named in BENCH_PROFILE.
import { runInForeground } from '../../deploy/local/foreground.ts'
import { nodeParts } from '../../deploy/local/process/parts.ts'

const { BENCH_PROFILE = '', BENCH_PROFILE_DIR = '' } = process.env
const profiled = BENCH_PROFILE.split(',')
const options = `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${BENCH_PROFILE_DIR}`

await runInForeground((settings, stores) =>
  nodeParts(settings, stores, process.env).map((part) =>
    profiled.includes(part.name)
      ? {
          ...part,
          env: { ...part.env, NODE_OPTIONS: `${options} --cpu-prof-name=${part.name}.cpuprofile` },
        }
      : part,
  ),
)
