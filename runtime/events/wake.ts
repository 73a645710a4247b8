// A pause between rounds of work that can be cut short. It must not start the work itself.

export type Wake = {
  /** Resolves after `ms`, at once if woken since the last pause, or when woken. */
  pause: (ms: number) => Promise<void>
  /** Many calls during one round cut short one pause. */
  wake: () => void
}

/** A pause for one loop. */
export function createWake(): Wake {
  let woken = false
  let resume: (() => void) | undefined
  return {
    async pause(ms) {
      if (!woken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          resume = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      resume = undefined
      woken = false
    },
    wake() {
      woken = true
      resume?.()
    },
  }
}
