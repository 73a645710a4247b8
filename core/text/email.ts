// Normalizes e-mail addresses for look-ups and their limits.

/** An address without case, in one Unicode form, without blanks around it. Accents stay: they make another mailbox. */
export function normalizeEmail(email: string): string {
  return email.normalize('NFKC').toLowerCase().trim()
}
