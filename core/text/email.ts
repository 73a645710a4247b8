// Normalizes e-mail addresses for look-ups and their limits.

/**
 * An e-mail address for comparison: lower case, Unicode NFKC, no blanks around it. Accents stay: they make another
 * mailbox.
 */
export function normalizeEmail(email: string): string {
  return email.normalize('NFKC').toLowerCase().trim()
}
