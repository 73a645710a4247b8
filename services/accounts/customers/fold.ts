// Folds names and e-mail addresses to what look-ups compare. Pure; it must not decide what matches.

/** A name without case, accents and doubled blanks: "José  MENSAH" and "jose mensah" are one. */
export function foldName(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** An e-mail address without case. Accents stay: they make another mailbox. */
export function foldEmail(email: string): string {
  return email.normalize('NFKC').toLowerCase().trim()
}
