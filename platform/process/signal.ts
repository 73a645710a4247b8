// A pause between rounds of work that a notification can cut short.

export type Signal = {
  /** Resolves after `ms`, at once if notified since the last pause, or when notified. One pause at a time. */
  pause: (ms: number) => Promise<void>
  /** Many calls during one round cut short one pause. */
  notify: () => void
}

/** Makes the signal of one loop. */
export function createSignal(): Signal {
  let isNotified = false
  let resume: (() => void) | undefined
  return {
    async pause(ms) {
      if (!isNotified) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          resume = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      resume = undefined
      isNotified = false
    },
    notify() {
      isNotified = true
      resume?.()
    },
  }
}
