// The texts of the simulator's card form in the languages of payers' pages; no markup.
import type { Language } from '#core/text/language.ts'
import { type CardTexts as SharedTexts, cardTexts as shared } from '../../kit/http/card-texts.ts'
import type { CardProblem } from '../domain/card.ts'

/** Everything that the card form says, in one language. */
export type CardTexts = SharedTexts & Readonly<Record<CardProblem | keyof typeof own, string>>

const own = {
  number: 'Card number',
  expiry: 'Expiry date (MM/YY)',
  cvc: 'Security code',
  insufficientFundsText: 'The card was declined: insufficient funds. No money moved.',
  sandbox: 'Sandbox: no real money moves here.',
}

const en: CardTexts = {
  ...shared.en,
  ...own,
  noNumber: 'Enter the card number, 12 to 19 digits.',
  noExpiry: 'Enter the expiry date as MM/YY.',
  pastExpiry: 'The card has expired. Use another card.',
  noCvc: 'Enter the security code, 3 or 4 digits.',
}

const es: CardTexts = {
  ...shared.es,
  number: 'Número de tarjeta',
  expiry: 'Fecha de caducidad (MM/AA)',
  cvc: 'Código de seguridad',
  insufficientFundsText:
    'La tarjeta fue rechazada: fondos insuficientes. No se ha realizado ningún cargo.',
  sandbox: 'Entorno de pruebas: aquí no se mueve dinero real.',
  noNumber: 'Escriba el número de la tarjeta, de 12 a 19 cifras.',
  noExpiry: 'Escriba la fecha de caducidad como MM/AA.',
  pastExpiry: 'La tarjeta ha caducado. Use otra tarjeta.',
  noCvc: 'Escriba el código de seguridad, de 3 o 4 cifras.',
}

const fr: CardTexts = {
  ...shared.fr,
  number: 'Numéro de carte',
  expiry: 'Date d’expiration (MM/AA)',
  cvc: 'Code de sécurité',
  insufficientFundsText:
    'La carte a été refusée\u00a0: provision insuffisante. Aucun montant n’a été débité.',
  sandbox: 'Environnement de test\u00a0: aucun argent réel ne circule ici.',
  noNumber: 'Saisissez le numéro de la carte, de 12 à 19 chiffres.',
  noExpiry: 'Saisissez la date d’expiration sous la forme MM/AA.',
  pastExpiry: 'La carte a expiré. Utilisez une autre carte.',
  noCvc: 'Saisissez le code de sécurité, 3 ou 4 chiffres.',
}

const portuguese: CardTexts = {
  ...shared['pt-PT'],
  number: 'Número do cartão',
  expiry: 'Validade (MM/AA)',
  cvc: 'Código de segurança',
  insufficientFundsText:
    'O cartão foi recusado: saldo insuficiente. Não foi cobrado qualquer valor.',
  sandbox: 'Ambiente de testes: aqui não circula dinheiro real.',
  noNumber: 'Introduza o número do cartão, de 12 a 19 dígitos.',
  noExpiry: 'Introduza a validade no formato MM/AA.',
  pastExpiry: 'O cartão expirou. Use outro cartão.',
  noCvc: 'Introduza o código de segurança, de 3 ou 4 dígitos.',
}

const brazilian: CardTexts = {
  ...portuguese,
  ...shared['pt-BR'],
  insufficientFundsText: 'O cartão foi recusado: saldo insuficiente. Nenhum valor foi cobrado.',
  sandbox: 'Ambiente de testes: aqui não há dinheiro real.',
  noNumber: 'Digite o número do cartão, de 12 a 19 dígitos.',
  noExpiry: 'Digite a validade no formato MM/AA.',
  pastExpiry: 'O cartão está vencido. Use outro cartão.',
  noCvc: 'Digite o código de segurança, de 3 ou 4 dígitos.',
}

const ar: CardTexts = {
  ...shared.ar,
  number: 'رقم البطاقة',
  expiry: 'تاريخ الانتهاء (شهر/سنة)',
  cvc: 'رمز الأمان',
  insufficientFundsText: 'رُفضت البطاقة: الرصيد غير كافٍ. لم يُخصم أي مبلغ.',
  sandbox: 'بيئة تجريبية: لا تنتقل هنا أموال حقيقية.',
  noNumber: 'أدخل رقم البطاقة، من 12 إلى 19 رقمًا.',
  noExpiry: 'أدخل تاريخ الانتهاء بصيغة شهر/سنة: رقمان للشهر ثم رقمان للسنة.',
  pastExpiry: 'انتهت صلاحية البطاقة. استخدم بطاقة أخرى.',
  noCvc: 'أدخل رمز الأمان، 3 أو 4 أرقام.',
}

/** The texts of each language. */
export const cardTexts: Readonly<Record<Language, CardTexts>> = {
  en,
  es,
  fr,
  'pt-PT': portuguese,
  'pt-BR': brazilian,
  ar,
}
