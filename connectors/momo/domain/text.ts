// Texts and numbers in the form that MTN takes. Pure.

const maxLength = 160

/** Letters of any script, digits, blanks and `.,-` only: MTN refuses other characters, and more than 160. */
export function plainText(text: string): string {
  return text
    .slice(0, maxLength)
    .replaceAll(/[^\p{L}\p{N} .,-]/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

/** An MSISDN: E.164 without the plus sign. */
export function msisdnOf(mobileNumber: string): string {
  return mobileNumber.replace(/^\+/, '')
}
