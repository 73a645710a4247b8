// Where a card form may lead back to. Pure.

/** Whether the form may lead back to a URL: to the payers' own pages, or to any page over TLS. */
export function mayReturnTo(url: string, checkoutOrigin: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, origin, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || origin === checkoutOrigin
}
