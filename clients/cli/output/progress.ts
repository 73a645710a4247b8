// A progress bar with rate and remaining time on standard error, for a person at a terminal.
import { SingleBar } from 'cli-progress'

/** The progress of one piece of work. Nothing is shown where standard error is no terminal. */
export type Progress = {
  /** Whether there is a terminal that shows it. */
  isShown: boolean
  /** Shows how much is done, and how large a share of the whole that is, 0 to 1, where that is known. */
  update(count: number, share?: number): void
  /** Removes the bar. The next update shows it again. */
  stop(): void
}

/** A progress that shows nothing. */
export const noProgress: Progress = {
  isShown: false,
  update: () => undefined,
  stop: () => undefined,
}

const whole = 1_000_000
const looks = {
  barCompleteChar: '\u2588',
  barIncompleteChar: '\u2591',
  barsize: 24,
  hideCursor: true,
  clearOnComplete: true,
  // Shows the cursor again when the command is interrupted.
  gracefulExit: true,
} as const

/** Opens a progress whose count has these words before it, for example `resealed`. */
export function openProgress(stream: NodeJS.WritableStream, words: string): Progress {
  const startMs = performance.now()
  const counted = `${words} {count}  {rate}/s`
  const options = { ...looks, stream, formatTime: clock }
  const bars = {
    known: new SingleBar({
      ...options,
      format: `{bar} {percentage}%  ${counted}  {eta_formatted} left`,
    }),
    unknown: new SingleBar({ ...options, format: counted }),
  }
  return {
    isShown: 'isTTY' in stream && stream.isTTY === true,
    update(count, share) {
      const bar = share === undefined ? bars.unknown : bars.known
      const rate = (count * 1_000) / Math.max(1, performance.now() - startMs)
      const shown = { count, rate: rate < 10 ? rate.toFixed(1) : Math.round(rate) }
      const value = Math.round(whole * Math.min(1, Math.max(0, share ?? 0)))
      if (bar.isActive) bar.update(value, shown)
      else bar.start(whole, value, shown)
    },
    stop() {
      for (const bar of Object.values(bars)) bar.stop()
    },
  }
}

/** Seconds as minutes and seconds, or a dash while nothing is known. */
function clock(seconds: number): string {
  if (!Number.isFinite(seconds)) return '-'
  return `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, '0')}`
}
