// Folds names to what look-ups compare. Pure; it must not decide what matches.

/** A name without case, accents and doubled blanks: "José  MENSAH" and "jose mensah" are one. */
export function foldName(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
}
