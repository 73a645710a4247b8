// The key of the built-in identity provider: who has it may choose a person of the sandbox.

/** Its file in the console's folder of secrets; the launcher makes it. */
export const signInKeyFile = 'sign-in.key'

/** Where the link of the start banner leads. */
export const localLinkPath = '/local/link'

/** The one-click link that the start prints. The key is behind the `#`-free path, so it is sent to loopback only. */
export function signInLink(consolePort: number, key: string): string {
  return `http://127.0.0.1:${consolePort}${localLinkPath}/${key}`
}
