// The link to /docs/try-it that fills in the keys of a sandbox.

/**
 * The part of an address after `#` that gives the page the keys of a sandbox. A browser sends it to nobody, and the page
 * removes it at once.
 */
export function keysFragment(keys: { subscriptionKey: string; apiKey: string }): string {
  return `#${new URLSearchParams(keys).toString()}`
}
