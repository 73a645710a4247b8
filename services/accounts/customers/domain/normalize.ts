// Normalizes names for look-ups. Pure.

/** A name without case, accents and doubled blanks: "José  MENSAH" and "jose mensah" are one. */
export function normalizeName(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
}
