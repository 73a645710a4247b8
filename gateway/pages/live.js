// Loads a payer's page anew when its payment has changed; it must not send or change what the payer types.
const { page, watch, stamp } = document.currentScript.dataset
const soonMs = 4_000
const laterMs = 15_000
const soonForMs = 5 * 60_000
const openedMs = Date.now()

/** Waits before the next look; a page that is left open asks less often. */
function schedule() {
  setTimeout(() => void look(), Date.now() - openedMs < soonForMs ? soonMs : laterMs)
}

/** A form that is being filled in is not taken away while it can still be sent, nor a card form that works. */
function isBusy(phase) {
  if (phase === 'processing') return document.querySelector('iframe') !== null
  return phase === 'open' && Boolean(document.querySelector('#pin')?.value)
}

async function look() {
  try {
    if (!document.hidden) {
      const answer = await fetch(watch, { signal: AbortSignal.timeout(10_000) })
      const now = answer.ok ? await answer.json() : { stamp }
      // Not reload(): a page that answered a form would send it again.
      if (now.stamp !== stamp && !isBusy(now.phase)) return location.replace(page)
    }
  } catch {
    // No network for now; the next look may have one.
  }
  schedule()
}

// A button that needs this script is shown by it.
const printer = document.querySelector('#print')
if (printer) {
  printer.hidden = false
  printer.addEventListener('click', () => print())
}
schedule()
